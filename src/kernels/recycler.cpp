#include "kernels/recycler.h"

#include <algorithm>
#include <bit>
#include <new>

namespace mlxforge {

Recycler::Free::~Free() {
  for (auto& [size, buffers] : by_size) {
    for (auto buffer : buffers) mx::allocator::allocator().free(buffer);
  }
}

mx::allocator::Data Recycler::take(size_t bytes) {
  const size_t size = std::bit_ceil(std::max<size_t>(bytes, 4096));
  auto& buffers = free_->by_size[size];
  mx::allocator::Buffer buffer(nullptr);
  if (buffers.empty()) {
    buffer = mx::allocator::allocator().malloc(size);
    if (buffer.ptr() == nullptr) throw std::bad_alloc();
  } else {
    buffer = buffers.back();
    buffers.pop_back();
  }
  return {buffer,
          [free = free_, size](mx::allocator::Buffer b) { free->by_size[size].push_back(b); }};
}

}  // namespace mlxforge
