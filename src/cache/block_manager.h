// Block tables of sequences over the cache groups of a model. A group is a set of layers that keep
// the same positions: all of them (window 0) or the last `window`. Every group has its own block
// ids; one byte budget is split so that each has as many blocks. Knows bytes per block, never
// families or layouts. Not thread-safe: the worker thread owns it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cache/block_pool.h"

namespace mlxforge {

struct CacheGroup {
  size_t block_bytes = 0;  // over all layers of the group
  int window = 0;          // positions a query sees, itself counted; 0: all
};

// One sequence's blocks: tables[group][position / kBlockTokens].
struct BlockTables {
  std::vector<std::vector<BlockId>> tables;
};

class BlockManager {
 public:
  // Throws Error, naming the least budget, for one that holds next to nothing.
  BlockManager(std::vector<CacheGroup> groups, size_t budget_bytes);

  const std::vector<CacheGroup>& groups() const { return groups_; }
  int blocks_total() const { return pools_.front().n_total(); }
  int blocks_used() const { return pools_.front().n_used(); }
  int capacity() const { return blocks_total() * kBlockTokens; }  // tokens
  // Whether n tokens fit when the sequence is alone, and whether it can have room for them now.
  bool could_hold(int n_tokens) const { return n_tokens <= capacity(); }
  bool can_grow(const BlockTables& seq, int n_tokens) const;

  // Makes room for positions 0..n_tokens-1; false, and nothing changed, when blocks ran out.
  bool grow(BlockTables& seq, int n_tokens);
  // Lets `to`, which holds none, begin with the blocks of positions 0..n_tokens-1 of `from`, which
  // are only read from then on; false, and nothing changed, when `from` has given back one that a
  // query at n_tokens sees. REQUIRES whole blocks.
  bool share(const BlockTables& from, int n_tokens, BlockTables& to);
  // Gives back the blocks that no query at position >= n_computed can see.
  void release_behind_window(BlockTables& seq, int n_computed);
  void release(BlockTables& seq);

 private:
  int first_block_seen(size_t group, int position) const;

  std::vector<CacheGroup> groups_;
  std::vector<BlockPool> pools_;  // one per group
};

}  // namespace mlxforge
