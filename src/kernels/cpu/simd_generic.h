// simd.h for any CPU: GNU vectors of 4 lanes, which every compiler backend lowers to what it has.
#pragma once

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

inline constexpr int kLanes = 4;
inline constexpr bool kHasFma = false;
typedef float F32 __attribute__((vector_size(16)));
typedef int32_t I32 __attribute__((vector_size(16)));
typedef int16_t I16 __attribute__((vector_size(16)));
typedef int8_t I8 __attribute__((vector_size(16)));
typedef uint16_t U16 __attribute__((vector_size(16)));
typedef uint32_t U32 __attribute__((vector_size(16)));

MLXFORGE_INLINE F32 load_n(const float* p, int n) {
  F32 x = {};
  memcpy(&x, p, sizeof(float) * static_cast<size_t>(n));
  return x;
}
MLXFORGE_INLINE F32 load(const float* p) { return load_n(p, kLanes); }
MLXFORGE_INLINE void store_n(float* p, F32 x, int n) {
  memcpy(p, &x, sizeof(float) * static_cast<size_t>(n));
}
MLXFORGE_INLINE void store(float* p, F32 x) { store_n(p, x, kLanes); }
MLXFORGE_INLINE I32 load_i(const void* p) {
  I32 x;
  memcpy(&x, p, sizeof x);
  return x;
}
MLXFORGE_INLINE void store_i(void* p, I32 x) { memcpy(p, &x, sizeof x); }
MLXFORGE_INLINE F32 splat(float x) { return F32{x, x, x, x}; }
MLXFORGE_INLINE I32 splat(int32_t x) { return I32{x, x, x, x}; }
MLXFORGE_INLINE F32 zero() { return F32{}; }
MLXFORGE_INLINE I32 zero_i() { return I32{}; }

MLXFORGE_INLINE I32 as_i32(F32 x) { return reinterpret_cast<I32>(x); }
MLXFORGE_INLINE F32 as_f32(I32 x) { return reinterpret_cast<F32>(x); }
MLXFORGE_INLINE F32 to_f32(I32 x) { return __builtin_convertvector(x, F32); }

// Unsigned arithmetic: it wraps, as the vector units do.
MLXFORGE_INLINE I32 add_i(I32 a, I32 b) {
  return reinterpret_cast<I32>(reinterpret_cast<U32>(a) + reinterpret_cast<U32>(b));
}
MLXFORGE_INLINE I32 sub_i(I32 a, I32 b) {
  return reinterpret_cast<I32>(reinterpret_cast<U32>(a) - reinterpret_cast<U32>(b));
}
MLXFORGE_INLINE I32 sub_i16(I32 a, I32 b) {
  return reinterpret_cast<I32>(reinterpret_cast<I16>(a) - reinterpret_cast<I16>(b));
}
MLXFORGE_INLINE I32 sub_i8(I32 a, I32 b) {
  return reinterpret_cast<I32>(reinterpret_cast<I8>(a) - reinterpret_cast<I8>(b));
}
MLXFORGE_INLINE I32 max_i(I32 a, I32 b) { return (a & (a > b)) | (b & ~(a > b)); }
// The largest lane, whose bits are a float.
MLXFORGE_INLINE float max_lane_bits(I32 x) {
  const I32 s = max_i(x, I32{x[2], x[3], x[0], x[1]});
  return __builtin_bit_cast(float, s[0] < s[1] ? s[1] : s[0]);
}
MLXFORGE_INLINE I32 mul_i(I32 a, I32 b) {
  return reinterpret_cast<I32>(reinterpret_cast<U32>(a) * reinterpret_cast<U32>(b));
}
MLXFORGE_INLINE I32 and_i(I32 a, I32 b) { return a & b; }
MLXFORGE_INLINE I32 or_i(I32 a, I32 b) { return a | b; }
MLXFORGE_INLINE void pin(I32&) {}
template <int n>
MLXFORGE_INLINE I32 sll_i(I32 x) {
  return reinterpret_cast<I32>(reinterpret_cast<U32>(x) << n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i(I32 x) {
  return reinterpret_cast<I32>(reinterpret_cast<U32>(x) >> n);
}
template <int n>
MLXFORGE_INLINE I32 sra_i(I32 x) {
  return x >> n;
}
template <int n>
MLXFORGE_INLINE I32 srl_i16(I32 x) {
  return reinterpret_cast<I32>(reinterpret_cast<U16>(x) >> n);
}
MLXFORGE_INLINE I32 madd16(I32 acc, I32 a, I32 b) {
  const I32 low = (sll_i<16>(a) >> 16) * (sll_i<16>(b) >> 16);
  return acc + low + (a >> 16) * (b >> 16);
}

MLXFORGE_INLINE void store_i16_pairs(int16_t* p, I32 x) {
  p[0] = static_cast<int16_t>(x[0]);
  p[1] = static_cast<int16_t>(x[2]);
  p[2] = static_cast<int16_t>(x[1]);
  p[3] = static_cast<int16_t>(x[3]);
}
MLXFORGE_INLINE void store_u8(uint8_t* p, I32 x) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<uint8_t>(x[i]);
}

inline constexpr int kDot8Bits = 8;
inline constexpr int kDot8Offset = 0;
using Acc8 = I32;
// The bytes 2i + odd of each 16-bit half, sign-extended.
template <bool odd>
MLXFORGE_INLINE I32 widen_i8(I32 x) {
  return reinterpret_cast<I32>(reinterpret_cast<I16>(odd ? x : sll_i<8>(x)) >> 8);
}
MLXFORGE_INLINE Acc8 dot8(Acc8 acc, I32 w, I32 a) {
  acc = madd16(acc, widen_i8<false>(w), widen_i8<false>(a));
  return madd16(acc, widen_i8<true>(w), widen_i8<true>(a));
}
MLXFORGE_INLINE Acc8 dot8_sub(Acc8 a, Acc8 b) { return sub_i(a, b); }
MLXFORGE_INLINE I32 dot8_sum(Acc8 acc) { return acc; }

MLXFORGE_INLINE F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }
MLXFORGE_INLINE F32 where(I32 mask, F32 x, F32 y) {
  return as_f32((mask & as_i32(x)) | (~mask & as_i32(y)));
}
MLXFORGE_INLINE F32 where_lt(F32 a, F32 b, F32 x, F32 y) { return where(a < b, x, y); }
MLXFORGE_INLINE F32 where_nan(F32 a, F32 x, F32 y) { return where(a == a, y, x); }
MLXFORGE_INLINE F32 min(F32 a, F32 b) { return where(a < b, a, b); }
MLXFORGE_INLINE F32 max(F32 a, F32 b) { return where(b < a, a, b); }
MLXFORGE_INLINE F32 abs(F32 x) { return as_f32(as_i32(x) & splat(0x7fffffff)); }
MLXFORGE_INLINE F32 sqrt(F32 x) {
  return F32{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
             __builtin_sqrtf(x[3])};
}
// Adding and subtracting 1.5 * 2^23 rounds to nearest even below 2^22; anything larger keeps its
// value.
MLXFORGE_INLINE F32 round_even(F32 x) {
  const F32 magic = splat(12582912.0f);
  return where_lt(abs(x), splat(4194304.0f), (x + magic) - magic, x);
}
MLXFORGE_INLINE I32 to_i32(F32 x) {
  const F32 inside = where_lt(abs(x), splat(2147483648.0f), round_even(x), zero());
  return __builtin_convertvector(inside, I32);
}

// f16 to f32 by moving the fields; subnormals by one exact subtraction of normal numbers, so that
// FTZ/DAZ cannot bite.
MLXFORGE_INLINE F32 load_f16(const uint16_t* p) {
  const I32 h = {p[0], p[1], p[2], p[3]};
  const I32 sign = sll_i<16>(h & splat(0x8000));
  const I32 magnitude = sll_i<13>(h & splat(0x7fff));
  const I32 exponent = magnitude & splat(0x0f800000);
  const I32 normal = add_i(magnitude, splat(112 << 23));
  const I32 special = add_i(normal, splat(112 << 23));  // infinity and NaN
  const I32 subnormal = as_i32(as_f32(add_i(normal, splat(1 << 23))) - as_f32(splat(113 << 23)));
  const I32 is_special = exponent == splat(0x0f800000), is_subnormal = exponent == zero_i();
  const I32 value =
      (special & is_special) | (subnormal & is_subnormal) | (normal & ~(is_special | is_subnormal));
  return as_f32(value | sign);
}
MLXFORGE_INLINE uint16_t f16_bits(uint32_t bits) {
  const uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x1ffu));  // NaN
  if (bits >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);     // 65520 and more
  if (bits < 0x38800000u) {  // subnormal: 0.5's ulp is 2^-24, the grid's step
    float x;
    memcpy(&x, &bits, sizeof x);
    x += 0.5f;
    memcpy(&bits, &x, sizeof x);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | ((bits - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13));
}
MLXFORGE_INLINE void store_f16(uint16_t* p, F32 x) {
  const U32 bits = reinterpret_cast<U32>(x);
  for (int i = 0; i < kLanes; ++i) p[i] = f16_bits(bits[i]);
}
MLXFORGE_INLINE F32 load_bf16(const uint16_t* p) {
  return as_f32(sll_i<16>(I32{p[0], p[1], p[2], p[3]}));
}
MLXFORGE_INLINE void store_bf16(uint16_t* p, F32 x) {
  const I32 bits = as_i32(x);
  const I32 odd = and_i(srl_i<16>(bits), splat(1));
  const I32 rounded = srl_i<16>(add_i(bits, add_i(odd, splat(0x7fff))));
  const I32 quiet = or_i(srl_i<16>(bits), splat(0x40));  // a NaN must not round to infinity
  const I32 out = as_i32(where_nan(x, as_f32(quiet), as_f32(rounded)));
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<uint16_t>(out[i]);
}

MLXFORGE_INLINE float sum(F32 x) { return (x[0] + x[2]) + (x[1] + x[3]); }
MLXFORGE_INLINE F32 sums(const F32* x) { return F32{sum(x[0]), sum(x[1]), sum(x[2]), sum(x[3])}; }
MLXFORGE_INLINE float max_lane(F32 x) {
  const float a = x[0] < x[2] ? x[2] : x[0], b = x[1] < x[3] ? x[3] : x[1];
  return a < b ? b : a;
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
