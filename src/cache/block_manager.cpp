#include "cache/block_manager.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace mlxforge {
namespace {

constexpr size_t kLeastBlocks = 2;

int blocks_in(size_t budget, const std::vector<CacheGroup>& groups) {
  size_t bytes = 0;  // of a block in every group
  for (const auto& group : groups) bytes += group.block_bytes;
  check(bytes > 0, "a cache group without bytes");
  if (budget / bytes < kLeastBlocks)
    fail("cache", "expected --kv-budget to be at least ", kLeastBlocks * bytes, " bytes, ",
         kLeastBlocks * kBlockTokens, " tokens of this model, got ", budget);
  // Slots are int32.
  constexpr size_t kMax = std::numeric_limits<int32_t>::max() / kBlockTokens;
  return static_cast<int>(std::min(budget / bytes, kMax));
}

}  // namespace

BlockManager::BlockManager(std::vector<CacheGroup> groups, size_t budget_bytes)
    : groups_(std::move(groups)),
      pools_(groups_.size(), BlockPool(blocks_in(budget_bytes, groups_))) {}

bool BlockManager::can_hold(int n_tokens) const {
  return std::all_of(pools_.begin(), pools_.end(),
                     [&](const BlockPool& pool) { return blocks_for(n_tokens) <= pool.n_free(); });
}

bool BlockManager::grow(BlockTables& seq, int n_tokens) {
  seq.tables.resize(groups_.size());
  const size_t want = blocks_for(n_tokens);
  for (size_t g = 0; g < groups_.size(); ++g) {
    const size_t have = seq.tables[g].size();
    if (want > have && want - have > static_cast<size_t>(pools_[g].n_free())) return false;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    auto& table = seq.tables[g];
    while (table.size() < want) {
      table.push_back(*pools_[g].allocate(table.empty() ? kNoBlock : table.back()));
    }
  }
  return true;
}

void BlockManager::release_behind_window(BlockTables& seq, int n_computed) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].window == 0) continue;
    // The query at n_computed sees keys n_computed - window + 1 and later.
    const int first_seen = std::max(0, n_computed - groups_[g].window + 1);
    for (int b = first_seen / kBlockTokens - 1; b >= 0 && seq.tables[g][b] != kNoBlock; --b) {
      pools_[g].release(seq.tables[g][b]);
      seq.tables[g][b] = kNoBlock;
    }
  }
}

void BlockManager::release(BlockTables& seq) {
  for (size_t g = 0; g < seq.tables.size(); ++g) {
    for (const BlockId id : seq.tables[g]) {
      if (id != kNoBlock) pools_[g].release(id);
    }
  }
  seq.tables.clear();
}

}  // namespace mlxforge
