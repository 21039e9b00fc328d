#include "kernels/cpu/rope_kernels.h"

#include <type_traits>

#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

// Sine and cosine of one token's angles. The angle is an f32 as in MLX; the rest is double:
// reduction by multiples of pi / 2, whose high part has 30 bits so that its product with a multiple
// below 2^23 is exact, then the Taylor series on [-pi/4, pi/4] (truncated below 1e-11). A plain
// loop: the compiler makes vectors of it, and each element's operations stay the same.
void angles(const Rope& rope, int32_t position, float* cosine, float* sine) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPiHigh = 0x1.921fb54p+0, kHalfPiLow = 0x1.10b4611a62633p-30;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const float at = static_cast<float>(position) * rope.scale;
  for (int i = 0; i < rope.dims / 2; ++i) {
    const double x = at * rope.inv_freq[i];
    const double shifted = x * kTwoOverPi + kRound;
    const double n = shifted - kRound;
    uint64_t quadrant;
    memcpy(&quadrant, &shifted, sizeof quadrant);
    const double r = (x - n * kHalfPiHigh) - n * kHalfPiLow;
    const double z = r * r;
    const double s =
        r + r * z *
                (-1.0 / 6 +
                 z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800)))));
    const double c =
        1 + z * (-1.0 / 2 + z * (1.0 / 24 + z * (-1.0 / 720 +
                                                 z * (1.0 / 40320 + z * (-1.0 / 3628800 +
                                                                         z * (1.0 / 479001600))))));
    const double odd_s = quadrant & 1 ? c : s, odd_c = quadrant & 1 ? s : c;
    sine[i] = static_cast<float>(quadrant & 2 ? -odd_s : odd_s);
    cosine[i] = static_cast<float>((quadrant + 1) & 2 ? -odd_c : odd_c);
  }
}

// Each product and sum rounds on its own, as in MLX, on every ISA and in vectors and scalars alike.
void rotate(const Rope& rope, const float* cosine, const float* sine, float* x) {
  const int half = rope.dims / 2;
  const int step = rope.interleaved ? 2 : 1, other = rope.interleaved ? 1 : half;
  int i = 0;
  for (; !rope.interleaved && i + kLanes <= half; i += kLanes) {
    const F32 a = load(x + i), b = load(x + half + i), c = load(cosine + i), s = load(sine + i);
    store(x + i, a * c - b * s);
    store(x + half + i, a * s + b * c);
  }
  for (; i < half; ++i) {
    const float a = x[i * step], b = x[i * step + other];
    x[i * step] = a * cosine[i] - b * sine[i];
    x[i * step + other] = a * sine[i] + b * cosine[i];
  }
}

// Sum of x, or of its squares: kLanes running sums, then a tree.
float total(const float* x, int n, bool squares) {
  F32 acc = zero();
  for (int i = 0; i < n; i += kLanes) {
    const F32 v = i + kLanes <= n ? load(x + i) : load_n(x + i, n - i);
    acc = acc + (squares ? v * v : v);
  }
  return sum(acc);
}

void normalise(const QkNorm& norm, const float* weight, const float* bias, float* x, int n) {
  if (norm.kind == QkNorm::Kind::layer) {
    const float mean = total(x, n, false) / static_cast<float>(n);
    for (int i = 0; i < n; ++i) x[i] -= mean;
  }
  const float scale = 1 / __builtin_sqrtf(total(x, n, true) / static_cast<float>(n) + norm.eps);
  for (int i = 0; i < n; ++i)
    x[i] = x[i] * scale * (weight ? weight[i] : 1.0f) + (bias ? bias[i] : 0.0f);
}

void normalise_heads(const QkNorm& norm, const float* weight, const float* bias, float* x,
                     int heads, int d) {
  if (norm.whole_row) return normalise(norm, weight, bias, x, heads * d);
  for (int h = 0; h < heads; ++h) normalise(norm, weight, bias, x + h * d, d);
}

template <KvType type>
void store_row(void* pool, int64_t at, const float* x, int d) {
  using Element = std::conditional_t<type == KvType::f32, float, uint16_t>;
  Element* out = static_cast<Element*>(pool) + at;
  const auto put = [&](Element* p, F32 v, int n) {
    if constexpr (type == KvType::f32) n == kLanes ? store(p, v) : store_n(p, v, n);
    if constexpr (type == KvType::f16) n == kLanes ? store_f16(p, v) : store_f16_n(p, v, n);
    if constexpr (type == KvType::bf16) n == kLanes ? store_bf16(p, v) : store_bf16_n(p, v, n);
  };
  int i = 0;
  for (; i + kLanes <= d; i += kLanes) put(out + i, load(x + i), kLanes);
  if (i < d) put(out + i, load_n(x + i, d - i), d - i);
}

// x (heads, d) into one slot of a pool (heads, n_slots, d).
void store_slot(const KvView& kv, void* pool, int64_t slot, const float* x, int d) {
  for (int h = 0; h < kv.n_kv; ++h) {
    const int64_t at = (h * kv.n_slots + slot) * d;
    switch (kv.type) {
      case KvType::f32:
        store_row<KvType::f32>(pool, at, x + h * d, d);
        break;
      case KvType::f16:
        store_row<KvType::f16>(pool, at, x + h * d, d);
        break;
      case KvType::bf16:
        store_row<KvType::bf16>(pool, at, x + h * d, d);
        break;
    }
  }
}

void append(const RopeAppendArgs& a, int first_token, int last_token) noexcept {
  const int d = a.kv.d_k, q_row = a.n_q * d, k_row = a.kv.n_kv * d;
  const int64_t row = q_row + k_row + a.kv.n_kv * a.kv.d_v;
  float cosine[kMaxRopeDims / 2], sine[kMaxRopeDims / 2], k[kMaxKeyRow];
  const auto norm_and_rotate = [&](const float* in, float* x, int heads, const float* weight,
                                   const float* bias) {
    memcpy(x, in, sizeof(float) * static_cast<size_t>(heads * d));
    const bool normed = a.norm.kind != QkNorm::Kind::none;
    if (normed && !a.norm.after_rope) normalise_heads(a.norm, weight, bias, x, heads, d);
    for (int h = 0; h < heads; ++h) rotate(a.rope, cosine, sine, x + h * d);
    if (normed && a.norm.after_rope) normalise_heads(a.norm, weight, bias, x, heads, d);
  };
  for (int t = first_token; t < last_token; ++t) {
    const float* in = a.qkv + t * row;
    angles(a.rope, a.positions[t], cosine, sine);
    norm_and_rotate(in, a.q + int64_t{t} * q_row, a.n_q, a.norm.q_weight, a.norm.q_bias);
    norm_and_rotate(in + q_row, k, a.kv.n_kv, a.norm.k_weight, a.norm.k_bias);
    store_slot(a.kv, a.kv.k, a.slots[t], k, d);
    store_slot(a.kv, a.kv.v, a.slots[t], in + q_row + k_row, a.kv.d_v);
  }
}

}  // namespace

extern const RopeKernels rope_kernels = {append};

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
