// exp, tanh, erf and silu on F32, one polynomial each, the same for every lane. NaN gives NaN;
// nothing traps.
#pragma once

#include <initializer_list>

#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

// x = n ln2 + r, |r| <= ln2 / 2: the integer n and e^r - 1 by the Taylor series to r^8 (relative
// error below 2^-26). Requires |x| <= 126 or so; NaN stays in `fraction`.
struct Exponent {
  F32 n;
  F32 fraction;
};
MLXFORGE_INLINE Exponent split_exp(F32 x) {
  const F32 n = round_even(x * splat(1.44269504088896341f));
  F32 r = fma(n, splat(-0.693359375f), x);  // 10 bits of ln2: exact
  r = fma(n, splat(2.12194440054690583e-4f), r);
  F32 q = splat(1.0f / 40320);
  for (const float c : {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f})
    q = fma(q, r, splat(c));
  return {n, fma(q, r * r, r)};
}
MLXFORGE_INLINE F32 pow2(F32 n) { return as_f32(sll_i<23>(add_i(to_i32(n), splat(int32_t{127})))); }

// e^x within 2 ulp; 0 below -86.5, infinity above 88.72.
MLXFORGE_INLINE F32 exp(F32 x) {
  const F32 clamped =
      where_lt(x, splat(-87.0f), splat(-87.0f), where_lt(splat(89.0f), x, splat(89.0f), x));
  const auto [n, fraction] = split_exp(clamped);
  const F32 scale = pow2(n - splat(1.0f));  // halved, because 2^128 overflows while e^88.7 does not
  const F32 y = fma(scale, fraction, scale) * splat(2.0f);
  return where_lt(x, splat(-86.5f), zero(), y);
}

// tanh x = -m / (m + 2) with m = e^(-2|x|) - 1, which keeps full precision near zero.
MLXFORGE_INLINE F32 tanh(F32 x) {
  const F32 a = abs(x);
  const auto [n, fraction] = split_exp(splat(-2.0f) * where_lt(splat(20.0f), a, splat(20.0f), a));
  const F32 scale = pow2(n);
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
