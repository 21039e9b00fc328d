// The blocks of one cache group: ids 0..n-1 of kBlockTokens token slots each, with a reference
// count (prefix sharing and n > 1 hold a block more than once). Lowest free id first, so that
// tables stay contiguous and a quiet server touches little memory. Not thread-safe: the worker
// thread owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace mlxforge {

using BlockId = int32_t;
inline constexpr BlockId kNoBlock =
    -1;  // a table entry whose block was given back (behind the window)
inline constexpr int kBlockTokens = 32;  // slot = block * kBlockTokens + offset

inline int blocks_for(int n_tokens) { return (n_tokens + kBlockTokens - 1) / kBlockTokens; }

class BlockPool {
 public:
  explicit BlockPool(int n_blocks);

  int n_total() const { return static_cast<int>(refs_.size()); }
  int n_free() const { return static_cast<int>(free_.size()); }
  int n_used() const { return n_total() - n_free(); }

  // A block with one reference; the one after `previous` when it is free. Empty when none is left.
  std::optional<BlockId> allocate(BlockId previous = kNoBlock);
  void add_reference(BlockId id);
  void release(BlockId id);

 private:
  std::vector<int> refs_;
  std::set<BlockId> free_;
};

}  // namespace mlxforge
