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

bool BlockManager::can_grow(const BlockTables& seq, int n_tokens) const {
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int have = seq.tables.empty() ? 0 : static_cast<int>(seq.tables[g].size());
    if (blocks_for(n_tokens) - have > pools_[g].n_free()) return false;
  }
  return true;
}

bool BlockManager::grow(BlockTables& seq, int n_tokens) {
  if (!can_grow(seq, n_tokens)) return false;
  seq.tables.resize(groups_.size());
  const size_t want = blocks_for(n_tokens);
  for (size_t g = 0; g < groups_.size(); ++g) {
    auto& table = seq.tables[g];
    while (table.size() < want) {
      table.push_back(*pools_[g].allocate(table.empty() ? kNoBlock : table.back()));
    }
  }
  return true;
}

// The query at `position` sees keys position - window + 1 and later.
int BlockManager::first_block_seen(size_t group, int position) const {
  const int window = groups_[group].window;
  return window == 0 ? 0 : std::max(0, position - window + 1) / kBlockTokens;
}

bool BlockManager::share(const BlockTables& from, int n_tokens, BlockTables& to) {
  check(to.tables.empty() && n_tokens % kBlockTokens == 0, "only whole blocks can be shared");
  const int n = n_tokens / kBlockTokens;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (int b = first_block_seen(g, n_tokens); b < n; ++b)
      if (from.tables[g][b] == kNoBlock) return false;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    const auto& table = from.tables[g];
    to.tables.emplace_back(table.begin(), table.begin() + n);
    for (const BlockId id : to.tables[g])
      if (id != kNoBlock) pools_[g].add_reference(id);
  }
  return true;
}

void BlockManager::release_behind_window(BlockTables& seq, int n_computed) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (int b = first_block_seen(g, n_computed) - 1; b >= 0 && seq.tables[g][b] != kNoBlock; --b) {
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
