// simd.h for AVX-512 F, BW, VL, DQ and VNNI: 16 lanes.
#pragma once

#include <immintrin.h>

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

inline constexpr int kLanes = 16;
inline constexpr bool kHasFma = true;
using F32 = __m512;
using I32 = __m512i;

MLXFORGE_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1); }

MLXFORGE_INLINE F32 load(const float* p) { return _mm512_loadu_ps(p); }
MLXFORGE_INLINE F32 load_n(const float* p, int n) {
  return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
MLXFORGE_INLINE void store(float* p, F32 x) { _mm512_storeu_ps(p, x); }
MLXFORGE_INLINE void store_n(float* p, F32 x, int n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), x);
}
MLXFORGE_INLINE I32 load_i(const void* p) { return _mm512_loadu_si512(p); }
MLXFORGE_INLINE void store_i(void* p, I32 x) { _mm512_storeu_si512(p, x); }
MLXFORGE_INLINE F32 splat(float x) { return _mm512_set1_ps(x); }
MLXFORGE_INLINE I32 splat(int32_t x) { return _mm512_set1_epi32(x); }
MLXFORGE_INLINE F32 zero() { return _mm512_setzero_ps(); }
MLXFORGE_INLINE I32 zero_i() { return _mm512_setzero_si512(); }

MLXFORGE_INLINE I32 as_i32(F32 x) { return _mm512_castps_si512(x); }
MLXFORGE_INLINE F32 as_f32(I32 x) { return _mm512_castsi512_ps(x); }
MLXFORGE_INLINE I32 to_i32(F32 x) { return _mm512_cvtps_epi32(x); }
MLXFORGE_INLINE F32 to_f32(I32 x) { return _mm512_cvtepi32_ps(x); }

MLXFORGE_INLINE I32 add_i(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
MLXFORGE_INLINE I32 sub_i(I32 a, I32 b) { return _mm512_sub_epi32(a, b); }
MLXFORGE_INLINE I32 sub_i16(I32 a, I32 b) { return _mm512_sub_epi16(a, b); }
MLXFORGE_INLINE I32 sub_i8(I32 a, I32 b) { return _mm512_sub_epi8(a, b); }
MLXFORGE_INLINE I32 max_i(I32 a, I32 b) { return _mm512_max_epi32(a, b); }
// The largest lane, whose bits are a float.
MLXFORGE_INLINE float max_lane_bits(I32 x) {
  return __builtin_bit_cast(float, _mm512_reduce_max_epi32(x));
}
MLXFORGE_INLINE I32 mul_i(I32 a, I32 b) { return _mm512_mullo_epi32(a, b); }
MLXFORGE_INLINE I32 and_i(I32 a, I32 b) { return _mm512_and_si512(a, b); }
MLXFORGE_INLINE I32 or_i(I32 a, I32 b) { return _mm512_or_si512(a, b); }
MLXFORGE_INLINE void pin(I32& x) { asm("" : "+v"(x)); }
template <int n>
MLXFORGE_INLINE I32 sll_i(I32 x) {
  return _mm512_slli_epi32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i(I32 x) {
  return _mm512_srli_epi32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 sra_i(I32 x) {
  return _mm512_srai_epi32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i16(I32 x) {
  return _mm512_srli_epi16(x, n);
}
MLXFORGE_INLINE I32 madd16(I32 acc, I32 a, I32 b) { return _mm512_dpwssd_epi32(acc, a, b); }

MLXFORGE_INLINE void store_i16_pairs(int16_t* p, I32 x) {
  const __m256i narrow = _mm512_cvtsepi32_epi16(x);
  const __m256i swapped = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(narrow, 0xd8), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), swapped);
}
MLXFORGE_INLINE void store_u8(uint8_t* p, I32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
}

inline constexpr int kDot8Bits = 8;
inline constexpr int kDot8Offset = 128;
using Acc8 = I32;
MLXFORGE_INLINE Acc8 dot8(Acc8 acc, I32 w, I32 a) { return _mm512_dpbusd_epi32(acc, a, w); }
MLXFORGE_INLINE Acc8 dot8_sub(Acc8 a, Acc8 b) { return sub_i(a, b); }
MLXFORGE_INLINE I32 dot8_sum(Acc8 acc) { return acc; }

MLXFORGE_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
MLXFORGE_INLINE F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
MLXFORGE_INLINE F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
MLXFORGE_INLINE F32 sqrt(F32 x) { return _mm512_sqrt_ps(x); }
MLXFORGE_INLINE F32 abs(F32 x) { return _mm512_abs_ps(x); }
MLXFORGE_INLINE F32 round_even(F32 x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
MLXFORGE_INLINE F32 where_lt(F32 a, F32 b, F32 x, F32 y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
MLXFORGE_INLINE F32 where_nan(F32 a, F32 x, F32 y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), y, x);
}

MLXFORGE_INLINE F32 load_f16(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
MLXFORGE_INLINE void store_f16(uint16_t* p, F32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
MLXFORGE_INLINE F32 load_bf16(const uint16_t* p) {
  const __m512i wide =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return as_f32(_mm512_slli_epi32(wide, 16));
}
MLXFORGE_INLINE void store_bf16(uint16_t* p, F32 x) {
  const I32 bits = as_i32(x);
  const I32 odd = and_i(srl_i<16>(bits), splat(1));
  const I32 rounded = srl_i<16>(add_i(bits, add_i(odd, splat(0x7fff))));
  const I32 quiet = or_i(srl_i<16>(bits), splat(0x40));  // a NaN must not round to infinity
  const I32 out = as_i32(where_nan(x, as_f32(quiet), as_f32(rounded)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(out));
}

MLXFORGE_INLINE float sum(F32 x) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
MLXFORGE_INLINE F32 sums(const F32* x) {
  F32 quarters[4];  // a quarter of the lanes of x[4i..4i+3] each, summed
  unroll<4>([&](auto i) {
    const F32* y = x + 4 * i;
    const F32 a = _mm512_unpacklo_ps(y[0], y[1]) + _mm512_unpackhi_ps(y[0], y[1]);
    const F32 b = _mm512_unpacklo_ps(y[2], y[3]) + _mm512_unpackhi_ps(y[2], y[3]);
    quarters[i] = _mm512_shuffle_ps(a, b, 0x44) + _mm512_shuffle_ps(a, b, 0xee);
  });
  F32 halves[2];
  unroll<2>([&](auto i) {
    const F32 a = quarters[2 * i], b = quarters[2 * i + 1];
    halves[i] = _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
  });
  return _mm512_shuffle_f32x4(halves[0], halves[1], 0x88) +
         _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd);
}
MLXFORGE_INLINE float max_lane(F32 x) { return _mm512_reduce_max_ps(x); }

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
