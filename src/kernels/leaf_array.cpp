#include "kernels/leaf_array.h"

#include "base/check.h"

namespace mlxforge {

mx::array array_over(const mx::Shape& shape, mx::Dtype dtype, mx::allocator::Data data) {
  mx::array array(shape, dtype, nullptr, {});
  array.set_data(std::move(data));
  array.set_status(mx::array::Status::available);
  return array;
}

mx::array leaf_array(const mx::Shape& shape, mx::Dtype dtype, std::string_view what) {
  size_t bytes = mx::size_of(dtype);
  for (const auto extent : shape) bytes *= extent;
  const mx::allocator::Buffer buffer = mx::allocator::allocator().malloc(bytes);
  if (buffer.ptr() == nullptr) {
    fail("kernels", "expected ", bytes, " bytes of memory for ", what, ", got none");
  }
  const auto free = [](mx::allocator::Buffer b) { mx::allocator::allocator().free(b); };
  return array_over(shape, dtype, {buffer, free});
}

}  // namespace mlxforge
