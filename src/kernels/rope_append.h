// Rotates q and k by their positions, writes k and v into the pool and returns q
// (rotary embedding: Su et al. 2021, arXiv 2104.09864).
#pragma once

#include <vector>

#include "kernels/exec.h"
#include "kernels/kv_pool.h"

namespace mlxforge {

struct Rope {
  // Angle of pair i at position p = (p * scale) * inv_freq[i], each product in f32. Empty: no
  // rotation.
  std::vector<float> inv_freq;  // (dims / 2)
  bool interleaved = false;     // pairs (2i, 2i+1); else (i, i + dims/2)
  float scale = 1;              // of positions
};

struct AttentionShape {
  int n_q = 0;
  int n_kv = 0;
  int d_k = 0;
  int d_v = 0;

  int qkv_width() const { return (n_q + n_kv) * d_k + n_kv * d_v; }
};

// qkv (T, n_q d_k + n_kv d_k + n_kv d_v), positions (T) int32, slots (T) -> q (T, n_q * d_k)
mx::array rope_append(const Exec& exec, const mx::array& qkv, const AttentionShape& shape,
                      const Rope& rope, const mx::array& positions, KvPool& pool,
                      const std::vector<int32_t>& slots);

}  // namespace mlxforge
