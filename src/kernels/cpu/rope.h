// rope_append: splits q|k|v rows, normalises q and k where the model asks for it, rotates them by
// their positions (rotary embedding: Su et al. 2021, arXiv 2104.09864), writes k and v into the
// pool in place and returns q. Called by the thread that owns the pools. A token's values depend on
// its own row and position only, bit for bit.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernels/cpu/kv.h"

namespace mlxforge::cpu {

// The angle of pair i at position p is (float(p) * scale) * inv_freq[i], each product rounded to
// f32 as in MLX; its sine and cosine are correct to 1 f32 ulp at any angle below 2^22.
struct Rope {
  const float* inv_freq = nullptr;  // (dims / 2)
  int dims = 0;  // the first `dims` elements of a head rotate, the rest pass; even; 0: no rotation
  bool interleaved = false;  // pairs (2i, 2i + 1); else (i, i + dims / 2)
  float scale = 1;           // of positions
};

// Normalisation of q and k: per head, or over all heads of a token's q (and of its k) at once;
// before or after the rotation. rms: x / sqrt(mean(x^2) + eps) * weight. layer: (x - mean) /
// sqrt(var + eps) * weight + bias.
struct QkNorm {
  enum class Kind : uint8_t { none, rms, layer };
  Kind kind = Kind::none;
  bool whole_row = false;
  bool after_rope = false;
  float eps = 0;
  const float* q_weight = nullptr;  // (d_k), or (n_q * d_k) when whole_row; null: 1
  const float* k_weight = nullptr;  // (d_k), or (n_kv * d_k); null: 1
  const float* q_bias = nullptr;    // null: 0
  const float* k_bias = nullptr;
};

struct RopeAppendArgs {
  const float* qkv = nullptr;  // (T, n_q d_k + n_kv d_k + n_kv d_v)
  int n_tokens = 0;            // T
  int n_q = 0;
  Rope rope = {};
  QkNorm norm = {};
  const int32_t* positions = nullptr;  // (T)
  const int32_t* slots =
      nullptr;         // (T) where token t's k and v go, each in [0, kv.n_slots), no two equal
  KvView kv = {};      // written: round to nearest even
  float* q = nullptr;  // out (T, n_q, d_k)
};

void rope_append(const RopeAppendArgs& args, ThreadPool& pool);

}  // namespace mlxforge::cpu
