#include "kernels/cpu/weight_memory.h"

#include <algorithm>
#include <mutex>

#include "kernels/cpu/aligned.h"

namespace mlxforge::cpu {
namespace {

constexpr size_t kBlockBytes = size_t{64} << 20;
constexpr size_t kAlignment = 64;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// The block that pieces are taken from now.
struct OpenBlock {
  std::mutex mutex;
  std::weak_ptr<AlignedBuffer> block;
  size_t used = 0;
};

}  // namespace

WeightMemory allocate_weights(size_t bytes) {
  static OpenBlock open;
  const std::lock_guard lock(open.mutex);
  auto block = open.block.lock();
  if (!block || block->size() - open.used < bytes) {
    block = std::make_shared<AlignedBuffer>(
        std::max(kBlockBytes, round_up(bytes, AlignedBuffer::kHugePage)));
    open.block = block;
    open.used = 0;
  }
  std::byte* piece = block->data() + open.used;
  open.used = round_up(open.used + bytes, kAlignment);
  return {std::move(block), piece};
}

}  // namespace mlxforge::cpu
