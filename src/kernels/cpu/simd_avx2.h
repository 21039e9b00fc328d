// simd.h for AVX2 with FMA and F16C: 8 lanes.
#pragma once

#include <immintrin.h>

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

inline constexpr int kLanes = 8;
inline constexpr bool kHasFma = true;
using F32 = __m256;
using I32 = __m256i;

MLXFORGE_INLINE I32 load_i(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
MLXFORGE_INLINE void store_i(void* p, I32 x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }

// Lanes below n all ones: a window into eight ones followed by eight zeros.
MLXFORGE_INLINE I32 first_lanes(int n) {
  static constexpr int32_t kWindow[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return load_i(kWindow + 8 - n);
}

MLXFORGE_INLINE F32 load(const float* p) { return _mm256_loadu_ps(p); }
MLXFORGE_INLINE F32 load_n(const float* p, int n) { return _mm256_maskload_ps(p, first_lanes(n)); }
MLXFORGE_INLINE void store(float* p, F32 x) { _mm256_storeu_ps(p, x); }
MLXFORGE_INLINE void store_n(float* p, F32 x, int n) { _mm256_maskstore_ps(p, first_lanes(n), x); }
MLXFORGE_INLINE F32 splat(float x) { return _mm256_set1_ps(x); }
MLXFORGE_INLINE I32 splat(int32_t x) { return _mm256_set1_epi32(x); }
MLXFORGE_INLINE F32 zero() { return _mm256_setzero_ps(); }
MLXFORGE_INLINE I32 zero_i() { return _mm256_setzero_si256(); }

MLXFORGE_INLINE I32 as_i32(F32 x) { return _mm256_castps_si256(x); }
MLXFORGE_INLINE F32 as_f32(I32 x) { return _mm256_castsi256_ps(x); }
MLXFORGE_INLINE I32 to_i32(F32 x) { return _mm256_cvtps_epi32(x); }
MLXFORGE_INLINE F32 to_f32(I32 x) { return _mm256_cvtepi32_ps(x); }

MLXFORGE_INLINE I32 add_i(I32 a, I32 b) { return _mm256_add_epi32(a, b); }
MLXFORGE_INLINE I32 sub_i(I32 a, I32 b) { return _mm256_sub_epi32(a, b); }
MLXFORGE_INLINE I32 sub_i16(I32 a, I32 b) { return _mm256_sub_epi16(a, b); }
MLXFORGE_INLINE I32 sub_i8(I32 a, I32 b) { return _mm256_sub_epi8(a, b); }
MLXFORGE_INLINE I32 max_i(I32 a, I32 b) { return _mm256_max_epi32(a, b); }
// The largest lane, whose bits are a float.
MLXFORGE_INLINE float max_lane_bits(I32 x) {
  __m128i s = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1))));
}
MLXFORGE_INLINE I32 mul_i(I32 a, I32 b) { return _mm256_mullo_epi32(a, b); }
MLXFORGE_INLINE I32 and_i(I32 a, I32 b) { return _mm256_and_si256(a, b); }
MLXFORGE_INLINE I32 or_i(I32 a, I32 b) { return _mm256_or_si256(a, b); }
MLXFORGE_INLINE void pin(I32& x) { asm("" : "+x"(x)); }
template <int n>
MLXFORGE_INLINE I32 sll_i(I32 x) {
  return _mm256_slli_epi32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i(I32 x) {
  return _mm256_srli_epi32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 sra_i(I32 x) {
  return _mm256_srai_epi32(x, n);
}
template <int n>
MLXFORGE_INLINE I32 srl_i16(I32 x) {
  return _mm256_srli_epi16(x, n);
}
MLXFORGE_INLINE I32 madd16(I32 acc, I32 a, I32 b) {
  return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

MLXFORGE_INLINE __m128i narrow16(I32 x) {
  return _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
MLXFORGE_INLINE void store_i16_pairs(int16_t* p, I32 x) {
  const __m128i swapped = _mm_shufflehi_epi16(_mm_shufflelo_epi16(narrow16(x), 0xd8), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), swapped);
}
MLXFORGE_INLINE void store_u8(uint8_t* p, I32 x) {
  const __m128i narrow = narrow16(x);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(narrow, narrow));
}

inline constexpr int kDot8Bits = 4;
inline constexpr int kDot8Offset = 128;
using Acc8 = I32;  // 16 sums of int16, which may wrap on the way: the result is below 8 * 127 * 16
MLXFORGE_INLINE Acc8 dot8(Acc8 acc, I32 w, I32 a) {
  return _mm256_add_epi16(acc, _mm256_maddubs_epi16(a, w));
}
MLXFORGE_INLINE Acc8 dot8_sub(Acc8 a, Acc8 b) { return _mm256_sub_epi16(a, b); }
MLXFORGE_INLINE I32 dot8_sum(Acc8 acc) { return _mm256_madd_epi16(acc, _mm256_set1_epi16(1)); }

MLXFORGE_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
MLXFORGE_INLINE F32 min(F32 a, F32 b) { return _mm256_min_ps(a, b); }
MLXFORGE_INLINE F32 max(F32 a, F32 b) { return _mm256_max_ps(a, b); }
MLXFORGE_INLINE F32 sqrt(F32 x) { return _mm256_sqrt_ps(x); }
MLXFORGE_INLINE F32 abs(F32 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
MLXFORGE_INLINE F32 round_even(F32 x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
MLXFORGE_INLINE F32 where_lt(F32 a, F32 b, F32 x, F32 y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
MLXFORGE_INLINE F32 where_nan(F32 a, F32 x, F32 y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

MLXFORGE_INLINE F32 load_f16(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
MLXFORGE_INLINE void store_f16(uint16_t* p, F32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
MLXFORGE_INLINE F32 load_bf16(const uint16_t* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
MLXFORGE_INLINE void store_bf16(uint16_t* p, F32 x) {
  const I32 bits = as_i32(x);
  const I32 odd = and_i(srl_i<16>(bits), splat(1));
  const I32 rounded = srl_i<16>(add_i(bits, add_i(odd, splat(0x7fff))));
  const I32 quiet = or_i(srl_i<16>(bits), splat(0x40));  // a NaN must not round to infinity
  const I32 out = as_i32(where_nan(x, as_f32(quiet), as_f32(rounded)));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(out, out), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}

MLXFORGE_INLINE float sum(F32 x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
MLXFORGE_INLINE F32 sums(const F32* x) {
  F32 halves[2];  // lanes 0-3 of x[0..3] | lanes 4-7 of x[0..3], each summed; the same of x[4..7]
  unroll<2>([&](auto i) {
    const F32* y = x + 4 * i;
    const F32 a = _mm256_unpacklo_ps(y[0], y[1]) + _mm256_unpackhi_ps(y[0], y[1]);
    const F32 b = _mm256_unpacklo_ps(y[2], y[3]) + _mm256_unpackhi_ps(y[2], y[3]);
    halves[i] = _mm256_shuffle_ps(a, b, 0x44) + _mm256_shuffle_ps(a, b, 0xee);
  });
  return _mm256_blend_ps(halves[0], halves[1], 0xf0) +
         _mm256_permute2f128_ps(halves[0], halves[1], 0x21);
}
MLXFORGE_INLINE float max_lane(F32 x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
