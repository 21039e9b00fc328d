// The CPU half of the ops: mx::arrays to the raw pointers of src/kernels/cpu and back. An op runs
// at once on the calling (worker) thread and its pool and returns an evaluated array; there is no
// graph. REQUIRES exec.on_cpu(), and evaluated, row-contiguous inputs.
#pragma once

#include <optional>

#include "kernels/exec.h"
#include "kernels/kv_pool.h"
#include "kernels/paged_attention.h"
#include "kernels/rope_append.h"
#include "kernels/weight.h"

namespace mlxforge {

// What follows the matmul. At most one of gate and residual.
struct Epilogue {
  std::optional<Activation> gate;       // act(part 0) * part 1
  const mx::array* residual = nullptr;  // added
  float softcap = 0;
  const std::vector<int32_t>* rows = nullptr;  // of x; all when null
};

mx::array run_linear(const Exec& exec, const mx::array& x, const Norm& norm, const Linear& linear,
                     const Epilogue& epilogue);
mx::array run_embed(const Exec& exec, const mx::array& tokens, const PackedWeight& table,
                    float scale);
mx::array run_rope_append(const Exec& exec, const mx::array& qkv, const AttentionShape& shape,
                          const Rope& rope, const mx::array& positions, KvPool& pool,
                          const std::vector<int32_t>& slots);
mx::array run_attention(const Exec& exec, const mx::array& q, const KvPool& pool,
                        const AttentionBatch& batch, const AttentionShape& shape,
                        const AttentionParams& params);

}  // namespace mlxforge
