// simd.h for Armv8.2: 4 lanes.
#pragma once

#include <arm_neon.h>

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

inline constexpr int kLanes = 4;
inline constexpr bool kHasFma = true;
using F32 = float32x4_t;
using I32 = int32x4_t;

MLXFORGE_INLINE F32 load(const float* p) { return vld1q_f32(p); }
MLXFORGE_INLINE void store(float* p, F32 x) { vst1q_f32(p, x); }
MLXFORGE_INLINE F32 load_n(const float* p, int n) {
  float lanes[4] = {};
  memcpy(lanes, p, sizeof(float) * static_cast<size_t>(n));
  return load(lanes);
}
MLXFORGE_INLINE void store_n(float* p, F32 x, int n) {
  float lanes[4];
  store(lanes, x);
  memcpy(p, lanes, sizeof(float) * static_cast<size_t>(n));
}
MLXFORGE_INLINE I32 load_i(const void* p) {
  return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
}
MLXFORGE_INLINE void store_i(void* p, I32 x) {
  vst1q_u8(static_cast<uint8_t*>(p), vreinterpretq_u8_s32(x));
}
MLXFORGE_INLINE F32 splat(float x) { return vdupq_n_f32(x); }
MLXFORGE_INLINE I32 splat(int32_t x) { return vdupq_n_s32(x); }
MLXFORGE_INLINE F32 zero() { return vdupq_n_f32(0); }
MLXFORGE_INLINE I32 zero_i() { return vdupq_n_s32(0); }

MLXFORGE_INLINE I32 as_i32(F32 x) { return vreinterpretq_s32_f32(x); }
MLXFORGE_INLINE F32 as_f32(I32 x) { return vreinterpretq_f32_s32(x); }
MLXFORGE_INLINE I32 to_i32(F32 x) { return vcvtnq_s32_f32(x); }
MLXFORGE_INLINE F32 to_f32(I32 x) { return vcvtq_f32_s32(x); }

MLXFORGE_INLINE I32 add_i(I32 a, I32 b) { return vaddq_s32(a, b); }
MLXFORGE_INLINE I32 sub_i(I32 a, I32 b) { return vsubq_s32(a, b); }
MLXFORGE_INLINE I32 sub_i16(I32 a, I32 b) {
  return vreinterpretq_s32_s16(vsubq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}
MLXFORGE_INLINE I32 sub_i8(I32 a, I32 b) {
  return vreinterpretq_s32_s8(vsubq_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)));
}
MLXFORGE_INLINE I32 max_i(I32 a, I32 b) { return vmaxq_s32(a, b); }
// The largest lane, whose bits are a float.
MLXFORGE_INLINE float max_lane_bits(I32 x) { return __builtin_bit_cast(float, vmaxvq_s32(x)); }
MLXFORGE_INLINE I32 mul_i(I32 a, I32 b) { return vmulq_s32(a, b); }
MLXFORGE_INLINE I32 and_i(I32 a, I32 b) { return vandq_s32(a, b); }
MLXFORGE_INLINE I32 or_i(I32 a, I32 b) { return vorrq_s32(a, b); }
MLXFORGE_INLINE void pin(I32& x) { asm("" : "+w"(x)); }
template <int n>
MLXFORGE_INLINE I32 sll_i(I32 x) {
  if constexpr (n == 0)
    return x;
  else
    return vshlq_n_s32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i(I32 x) {
  if constexpr (n == 0)
    return x;
  else
    return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(x), n));
}
template <int n>
MLXFORGE_INLINE I32 sra_i(I32 x) {
  return vshrq_n_s32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i16(I32 x) {
  return vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(x), n));
}
MLXFORGE_INLINE I32 madd16(I32 acc, I32 a, I32 b) {
  const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
  const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
  return vaddq_s32(acc, vpaddq_s32(low, vmull_high_s16(x, y)));
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
MLXFORGE_INLINE Acc8 dot8(Acc8 acc, I32 w, I32 a) {
  return vdotq_s32(acc, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(a));
}
MLXFORGE_INLINE Acc8 dot8_sub(Acc8 a, Acc8 b) { return sub_i(a, b); }
MLXFORGE_INLINE I32 dot8_sum(Acc8 acc) { return acc; }

MLXFORGE_INLINE F32 fma(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
MLXFORGE_INLINE F32 min(F32 a, F32 b) { return vminq_f32(a, b); }
MLXFORGE_INLINE F32 max(F32 a, F32 b) { return vmaxq_f32(a, b); }
MLXFORGE_INLINE F32 sqrt(F32 x) { return vsqrtq_f32(x); }
MLXFORGE_INLINE F32 abs(F32 x) { return vabsq_f32(x); }
MLXFORGE_INLINE F32 round_even(F32 x) { return vrndnq_f32(x); }
MLXFORGE_INLINE F32 where_lt(F32 a, F32 b, F32 x, F32 y) {
  return vbslq_f32(vcltq_f32(a, b), x, y);
}
MLXFORGE_INLINE F32 where_nan(F32 a, F32 x, F32 y) { return vbslq_f32(vceqq_f32(a, a), y, x); }

MLXFORGE_INLINE F32 load_f16(const uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
MLXFORGE_INLINE void store_f16(uint16_t* p, F32 x) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
MLXFORGE_INLINE F32 load_bf16(const uint16_t* p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
MLXFORGE_INLINE void store_bf16(uint16_t* p, F32 x) {
  const I32 bits = as_i32(x);
  const I32 odd = and_i(srl_i<16>(bits), splat(1));
  const I32 rounded = srl_i<16>(add_i(bits, add_i(odd, splat(0x7fff))));
  const I32 quiet = or_i(srl_i<16>(bits), splat(0x40));  // a NaN must not round to infinity
  const I32 out = as_i32(where_nan(x, as_f32(quiet), as_f32(rounded)));
  vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(out)));
}

MLXFORGE_INLINE float sum(F32 x) {
  const float32x2_t s = vadd_f32(vget_low_f32(x), vget_high_f32(x));
  return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}
MLXFORGE_INLINE F32 sums(const F32* x) {
  return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3]));
}
MLXFORGE_INLINE float max_lane(F32 x) { return vmaxvq_f32(x); }

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
