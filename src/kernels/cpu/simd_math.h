// exp, tanh, erf and silu on F32, one polynomial each, the same for every lane. NaN gives NaN;
// nothing traps.
#pragma once

#include <initializer_list>

#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

// x = n ln2 + r with n an integer and |r| <= ln2 / 2: 2^n and e^r - 1. The polynomial r + r^2 q(r)
// is a minimax fit made for this file, off by at most 2^-27 relative to e^r. Requires |x| < 90; NaN
// stays in `fraction`.
struct Exponent {
  F32 scale;
  F32 fraction;
};
MLXFORGE_INLINE Exponent split_exp(F32 x) {
  // 1.5 * 2^23: a sum with it is rounded to an integer, which then stands in the low bits.
  const F32 magic = splat(12582912.0f);
  const F32 shifted = fma(x, splat(1.44269504088896341f), magic);
  const F32 n = shifted - magic;
  F32 r = fma(n, splat(-0.693359375f), x);  // 10 bits of ln2: exact
  r = fma(n, splat(2.12194440054690583e-4f), r);
  F32 q = splat(0.0013814467f);
  for (const float c : {0.008368781f, 0.041668393f, 0.1666652f, 0.49999994f})
    q = fma(q, r, splat(c));
  const F32 scale = as_f32(add_i(sll_i<23>(as_i32(shifted)), splat(int32_t{127 << 23})));
  return {scale, fma(q, r * r, r)};
}

// e^x for x <= 0, within 2 ulp; 0 below -86.5.
MLXFORGE_INLINE F32 exp_nonpositive(F32 x) {
  const auto [scale, fraction] = split_exp(where_lt(x, splat(-87.0f), splat(-87.0f), x));
  return where_lt(x, splat(-86.5f), zero(), (splat(1.0f) + fraction) * scale);
}

// e^x within 2 ulp; 0 below -86.5, infinity above 88.72.
MLXFORGE_INLINE F32 exp(F32 x) {
  const F32 below = where_lt(splat(89.0f), x, splat(89.0f), x);
  const auto [scale, fraction] = split_exp(where_lt(x, splat(-87.0f), splat(-87.0f), below));
  // Halved meanwhile, because 2^128 overflows while e^88.7 does not.
  const F32 half = as_f32(sub_i(as_i32(scale), splat(int32_t{1 << 23})));
  return where_lt(x, splat(-86.5f), zero(), (splat(2.0f) + fraction * splat(2.0f)) * half);
}

// tanh x = -m / (m + 2) with m = e^(-2|x|) - 1, which keeps full precision near zero.
MLXFORGE_INLINE F32 tanh(F32 x) {
  const F32 a = abs(x);
  const auto [scale, fraction] =
      split_exp(splat(-2.0f) * where_lt(splat(20.0f), a, splat(20.0f), a));
  const F32 m = fma(scale, fraction, scale - splat(1.0f));
  const F32 y = (zero() - m) / (m + splat(2.0f));
  return where_lt(x, zero(), zero() - y, y);
}

// erf x, absolute error below 1e-7: x P(x^2) up to 0.9, then 1 - e^-Q(x); P and Q fitted to erf.
MLXFORGE_INLINE F32 erf(F32 x) {
  const F32 full = abs(x), a = where_lt(splat(4.0f), full, splat(4.0f), full), u = a * a;
  F32 p = splat(-0.0006090275f);
  for (const float c : {0.0050119474f, -0.0267789f, 0.11282141f, -0.37612525f, 1.1283791f})
    p = fma(p, u, splat(c));
  F32 q = splat(-0.00019718544f);
  for (const float c :
       {0.0030556438f, -0.02227723f, 0.10403766f, 0.6370594f, 1.1277498f, 0.00017744655f})
    q = fma(q, a, splat(c));
  const F32 y = where_lt(a, splat(0.9f), a * p, splat(1.0f) - exp(zero() - q));
  return where_lt(x, zero(), zero() - y, y);
}

// x / (1 + e^-x)
MLXFORGE_INLINE F32 silu(F32 x) { return x / (splat(1.0f) + exp(zero() - x)); }

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
