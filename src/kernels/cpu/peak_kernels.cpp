#include "kernels/cpu/peak_kernels.h"

#include "kernels/cpu/simd.h"

namespace mlxforge::cpu {
namespace MLXFORGE_CPU_ISA {
namespace {

constexpr int kChains = 12;  // independent sums, enough to hide the latency of any multiplier

// 12 chains of acc = op(acc, a, b); the empty asm makes each operand new to the compiler.
template <class Acc, class X, class Op>
void chains(int64_t steps, X a, X b, Acc first, float* sink, Op op) {
  Acc acc[kChains];
  unroll<kChains>([&](auto i) { acc[i] = first; });
  for (int64_t step = 0; step < steps; ++step)
    unroll<kChains>([&](auto i) {
#if defined(__x86_64__)
      asm volatile("" : "+x"(a), "+x"(b));
#elif defined(__aarch64__)
      asm volatile("" : "+w"(a), "+w"(b));
#endif
      acc[i] = op(acc[i], a, b);
    });
  unroll<kChains>([&](auto i) {
    memcpy(sink, &acc[i], sizeof acc[i]);
    asm volatile("" : : "r"(sink) : "memory");
  });
}

int64_t peak_f32(int64_t steps, float* sink) noexcept {
  chains(steps, splat(1.0f), splat(0.0f), zero(), sink,
         [](F32 acc, F32 a, F32 b) { return fma(a, b, acc); });
  return steps * kChains * kLanes * 2;
}
int64_t peak_int16(int64_t steps, float* sink) noexcept {
  chains(steps, splat(int32_t{1}), zero_i(), zero_i(), sink,
         [](I32 acc, I32 a, I32 b) { return madd16(acc, a, b); });
  return steps * kChains * kLanes * 2 * 2;
}
int64_t peak_int8(int64_t steps, float* sink) noexcept {
  chains(steps, splat(int32_t{1}), zero_i(), zero_i(), sink,
         [](Acc8 acc, I32 a, I32 b) { return dot8(acc, a, b); });
  return steps * kChains * kLanes * 4 * 2;
}

}  // namespace

extern const PeakKernels peak_kernels = {peak_f32, peak_int16, peak_int8};

}  // namespace MLXFORGE_CPU_ISA
}  // namespace mlxforge::cpu
