// The vocabulary of the CPU kernels: one source, compiled once per ISA. Include it only from
// *_kernels.cpp (or a header that only those include); the build defines MLXFORGE_CPU_ISA as
// generic, neon, avx2 or avx512, and everything here lies in namespace mlxforge::cpu::<isa>. Kernel
// sources use no std:: function templates: an out-of-line copy made for a high ISA could be linked
// into code that runs on a lower one.
//
// Types: F32 is kLanes floats, I32 kLanes 32-bit integers; raw vector types, so F32 has the
// operators + - * /.
// - load, store: any alignment; load_n, store_n: the first n lanes (0 <= n <= kLanes), the others
//   read as zero
// - load_f16, load_bf16: kLanes 16-bit floats (as uint16_t) to F32; store_f16, store_bf16 round to
//   nearest even
// - splat(float|int32_t): all lanes; zero()
// - fma(a, b, c): a * b + c, one rounding (generic: two). No other operation here contracts.
// - min, max: where a lane is NaN the result is unspecified
// - where_lt(a, b, x, y): a < b ? x : y per lane; where_nan(a, x, y)
// - round_even, abs, sqrt, to_i32 (nearest even; unspecified out of range or for NaN, never a
//   trap), to_f32, as_i32, as_f32
// - sum, max_lane: over the lanes, by a fixed tree; sums(x): lane i is the sum of x[i]'s lanes, by
//   another fixed tree, the same for every i
// - add_i sub_i and_i or_i mul_i, sll_i<n> srl_i<n>, load_i, store_i: on I32
// - madd16(acc, a, b): I32 lanes as two int16: acc + a0 * b0 + a1 * b1
//   dot8(acc, w, a)        I32 lanes as four bytes: w signed, of at most kDot8Bits bits, a in
//   [-127, 127] but stored as
//                          a + kDot8Offset. From zero_i(), after at most 8 steps and dot8_sub(acc,
//                          the same steps with kDot8Offset for every a), dot8_sum(acc) is the exact
//                          sum(w * a) per lane; in any order
// kHasFma says whether fma rounds once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifndef MLXFORGE_CPU_ISA
#error "simd.h belongs in *_kernels.cpp, which the build compiles once per ISA"
#endif

#define MLXFORGE_INLINE __attribute__((always_inline)) inline

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

// f(0), f(1), ..., f(N - 1) with a compile-time index, so that arrays indexed by it stay in
// registers.
template <int I>
struct Index {
  static constexpr int value = I;
  constexpr operator int() const { return I; }
};
template <int N, int I = 0, class F>
MLXFORGE_INLINE void unroll(F&& f) {
  if constexpr (I < N) {
    f(Index<I>{});
    unroll<N, I + 1>(f);
  }
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA

#if defined(__AVX512VNNI__)
#include "kernels/cpu/simd_avx512.h"
#elif defined(__AVX2__)
#include "kernels/cpu/simd_avx2.h"
#elif defined(__ARM_FEATURE_DOTPROD)
#include "kernels/cpu/simd_neon.h"
#else
#include "kernels/cpu/simd_generic.h"
#endif

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

MLXFORGE_INLINE F32 load_f16_n(const uint16_t* p, int n) {
  uint16_t lanes[kLanes] = {};
  memcpy(lanes, p, sizeof(uint16_t) * static_cast<size_t>(n));
  return load_f16(lanes);
}
MLXFORGE_INLINE F32 load_bf16_n(const uint16_t* p, int n) {
  uint16_t lanes[kLanes] = {};
  memcpy(lanes, p, sizeof(uint16_t) * static_cast<size_t>(n));
  return load_bf16(lanes);
}
MLXFORGE_INLINE void store_f16_n(uint16_t* p, F32 x, int n) {
  uint16_t lanes[kLanes];
  store_f16(lanes, x);
  memcpy(p, lanes, sizeof(uint16_t) * static_cast<size_t>(n));
}
MLXFORGE_INLINE void store_bf16_n(uint16_t* p, F32 x, int n) {
  uint16_t lanes[kLanes];
  store_bf16(lanes, x);
  memcpy(p, lanes, sizeof(uint16_t) * static_cast<size_t>(n));
}

// The nearest value of the narrower type, as f32.
MLXFORGE_INLINE F32 round_f16(F32 x) {
  uint16_t lanes[kLanes];
  store_f16(lanes, x);
  return load_f16(lanes);
}
MLXFORGE_INLINE F32 round_bf16(F32 x) {
  uint16_t lanes[kLanes];
  store_bf16(lanes, x);
  return load_bf16(lanes);
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
