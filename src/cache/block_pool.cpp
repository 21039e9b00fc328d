#include "cache/block_pool.h"

#include "base/check.h"

namespace mlxforge {

BlockPool::BlockPool(int n_blocks) : refs_(n_blocks, 0) {
  for (BlockId id = 0; id < n_blocks; ++id) free_.insert(free_.end(), id);
}

std::optional<BlockId> BlockPool::allocate(BlockId previous) {
  if (free_.empty()) return std::nullopt;
  auto it = previous == kNoBlock ? free_.end() : free_.find(previous + 1);
  if (it == free_.end()) it = free_.begin();
  const BlockId id = *it;
  free_.erase(it);
  refs_[id] = 1;
  return id;
}

void BlockPool::add_reference(BlockId id) {
  check(refs_.at(id) > 0, "a reference to free block ", id);
  ++refs_[id];
}

void BlockPool::release(BlockId id) {
  check(refs_.at(id) > 0, "block ", id, " released twice");
  if (--refs_[id] == 0) free_.insert(id);
}

}  // namespace mlxforge
