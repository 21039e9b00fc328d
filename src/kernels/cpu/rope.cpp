#include "kernels/cpu/rope.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/rope_kernels.h"

namespace mlxforge::cpu {

void rope_append(const RopeAppendArgs& a, ThreadPool& pool) {
  const int dims = a.rope.dims;
  check(dims % 2 == 0 && dims <= std::min(a.kv.d_k, kMaxRopeDims), "cannot rotate ", dims, " of ",
        a.kv.d_k, " dims");
  check(a.kv.n_kv * a.kv.d_k <= kMaxKeyRow, "a row of ", a.kv.n_kv * a.kv.d_k,
        " key elements is above ", kMaxKeyRow);
  const RopeKernels& kernels = rope_kernels(isa());
  constexpr int kLeastTokens = 2, kChunksPerThread = 4;
  const int n = std::min(a.n_tokens / kLeastTokens, pool.size() * kChunksPerThread);
  if (n <= 1) return kernels.append(a, 0, a.n_tokens);
  pool.run(n, [&](int i, int) noexcept {
    kernels.append(a, static_cast<int>(int64_t{a.n_tokens} * i / n),
                   static_cast<int>(int64_t{a.n_tokens} * (i + 1) / n));
  });
}

}  // namespace mlxforge::cpu
