// softmax(q K^T * scale + mask) V over each sequence's own keys, found through its block table.
// Causal: query i of a sequence sees keys up to its own position, the last `window` of them when
// there is a window (itself counted).
#pragma once

#include <optional>

#include "kernels/exec.h"
#include "kernels/kv_pool.h"
#include "kernels/rope_append.h"

namespace mlxforge {

struct AttentionParams {
  float scale = 1;
  int window = 0;                  // 0: all
  float softcap = 0;               // cap * tanh(score / cap); 0: none
  std::optional<mx::array> sinks;  // (n_q) f32: a logit that takes weight and gives no value
};

// q (T, n_q * d_k) -> (T, n_q * d_v)
mx::array paged_attention(const Exec& exec, const mx::array& q, const KvPool& pool,
                          const AttentionBatch& batch, const AttentionShape& shape,
                          const AttentionParams& params);

}  // namespace mlxforge
