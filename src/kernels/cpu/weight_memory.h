// Memory for packed weights: pieces of large blocks that lie on huge pages where the system gives
// them. A matrix alone would leave its ends on small pages, which are read at half the speed.
#pragma once

#include <cstddef>
#include <memory>

namespace mlxforge::cpu {

// Keeps the piece's block alive.
using WeightMemory = std::shared_ptr<std::byte>;

// 64-byte aligned, not initialised. From any thread; throws std::bad_alloc.
WeightMemory allocate_weights(size_t bytes);

}  // namespace mlxforge::cpu
