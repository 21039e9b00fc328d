#include "kernels/kv_pool.h"

#include "kernels/leaf_array.h"

namespace mlxforge {

KvPool make_kv_pool(int n_kv, int n_slots, int d_k, int d_v, mx::Dtype dtype) {
  constexpr const char* kWhat = "keys and values (--kv-budget)";
  return {leaf_array({n_kv, n_slots, d_k}, dtype, kWhat),
          leaf_array({n_kv, n_slots, d_v}, dtype, kWhat)};
}

}  // namespace mlxforge
