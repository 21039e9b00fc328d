#include "kernels/kv_pool.h"

#include "base/check.h"

namespace mlxforge {
namespace {

mx::array leaf(const mx::Shape& shape, mx::Dtype dtype) {
  mx::array array(shape, dtype, nullptr, {});
  mx::allocator::Buffer buffer = mx::allocator::allocator().malloc(array.nbytes());
  if (buffer.ptr() == nullptr) {
    fail("kernels", "expected ", array.nbytes(),
         " bytes for the KV pool, got none; lower --kv-budget");
  }
  array.set_data(mx::allocator::Data(
      buffer, [](mx::allocator::Buffer b) { mx::allocator::allocator().free(b); }));
  array.set_status(mx::array::Status::available);
  return array;
}

}  // namespace

KvPool make_kv_pool(int n_kv, int n_slots, int d_k, int d_v, mx::Dtype dtype) {
  return {leaf({n_kv, n_slots, d_k}, dtype), leaf({n_kv, n_slots, d_v}, dtype)};
}

}  // namespace mlxforge
