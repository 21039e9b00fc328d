// The prologue of linear(): norm, rounding, and the conversion of a row to the kinds of activations
// its weights need.
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

MLXFORGE_INLINE F32 round_to(Round round, F32 x) {
  return round == Round::f16 ? round_f16(x) : round == Round::bf16 ? round_bf16(x) : x;
}

// sum over k of f(x[k]) by four lanes-wide sums, each over every fourth vector, added as a tree.
template <class F>
float row_sum(const float* x, int n, F f) {
  F32 s[4] = {zero(), zero(), zero(), zero()};
  int k = 0;
  for (; k + 4 * kLanes <= n; k += 4 * kLanes)
    unroll<4>([&](auto i) { s[i] = f(s[i], load(x + k + i * kLanes), kLanes); });
  for (; k < n; k += kLanes) {
    const int lanes = n - k < kLanes ? n - k : kLanes;
    s[0] = f(s[0], load_n(x + k, lanes), lanes);
  }
  return sum((s[0] + s[1]) + (s[2] + s[3]));
}

// Normalises: y = (x - mean) * inverse * weight + bias. mlx-lm rounds before it multiplies by the
// weight, so do we.
struct Scaler {
  Norm norm;
  Round round = Round::none;
  float mean = 0;
  float inverse = 1;

  Scaler() = default;
  Scaler(const LinearArgs& args, const float* x, int n) : norm(args.norm), round(args.round) {
    if (norm.kind == Norm::none) return;
    if (norm.kind == Norm::layer)
      mean = row_sum(x, n, [](F32 s, F32 v, int) { return s + v; }) / static_cast<float>(n);
    const F32 m = splat(mean);
    const float squares = row_sum(x, n, [m](F32 s, F32 v, int lanes) {
      F32 d = v - m;
      if (lanes < kLanes) {  // lanes past the end are zeros of x, not of x - mean
        float tail[kLanes];
        store(tail, d);
        d = load_n(tail, lanes);
      }
      return fma(d, d, s);
    });
    inverse = 1.0f / __builtin_sqrtf(squares / static_cast<float>(n) + norm.eps);
  }

  // out[0, kFloatBlock) = k .. k + n of the normalised row, then zeros.
  void block(const float* x, int k, int n, float* out) const {
    const bool plain = n == kFloatBlock && round == Round::none;
    if (plain && norm.kind == Norm::none)
      for (int i = 0; i < kFloatBlock; i += kLanes) store(out + i, load(x + k + i));
    else if (plain && norm.kind == Norm::rms && norm.weight != nullptr)
      for (int i = 0; i < kFloatBlock; i += kLanes)
        store(out + i, load(x + k + i) * splat(inverse) * load(norm.weight + k + i));
    else
      for (int i = 0; i < kFloatBlock; i += kLanes)
        store(out + i, value(x, k + i, n - i < 0 ? 0 : n - i < kLanes ? n - i : kLanes));
  }

 private:
  F32 value(const float* x, int k, int lanes) const {
    F32 v = load_n(x + k, lanes);
    if (norm.kind == Norm::none) return round_to(round, v);
    v = round_to(round, (v - splat(mean)) * splat(inverse));
    if (norm.weight != nullptr) v = round_to(round, v * load_n(norm.weight + k, lanes));
    if (norm.bias != nullptr) v = round_to(round, v + load_n(norm.bias + k, lanes));
    return v;
  }
};

// 32 values to integers in [-limit, limit]; the sum of those, exact. A NaN or an infinity makes the
// scale NaN: their bits are the largest as integers. Groups below 1e-30 are zero.
struct Quantised {
  I32 q[kSub / kLanes];
  float scale;
  float sum;
};
MLXFORGE_INLINE Quantised quantise(const float* x, float limit) {
  constexpr int kN = kSub / kLanes;
  F32 v[kN];
  I32 top = zero_i(), total = zero_i();
  unroll<kN>([&](auto i) {
    v[i] = load(x + i * kLanes);
    top = max_i(top, as_i32(abs(v[i])));
  });
  const float most = max_lane_bits(top);
  const bool usable = most > 1e-30f && most < __builtin_inff();
  const F32 inverse = splat(usable ? limit / most : 0.0f);
  Quantised out;
  unroll<kN>([&](auto i) {
    out.q[i] = to_i32(v[i] * inverse);
    total = add_i(total, out.q[i]);
  });
  out.scale = usable ? most / limit : most * 0.0f;
  out.sum = sum(to_f32(total));  // below 2^24
  return out;
}

MLXFORGE_INLINE void put(const float* x, ActBlock16& out) {
  const Quantised q = quantise(x, 32767.0f);
  unroll<kSub / kLanes>([&](auto i) { store_i16_pairs(out.q + i * kLanes, q.q[i]); });
  out.scale = q.scale;
  out.sum = q.scale * q.sum;
  out.neg_sum = -static_cast<int32_t>(q.sum);
}
MLXFORGE_INLINE void put(const float* x, ActBlock8& out) {
  const Quantised q = quantise(x, 127.0f);
  const I32 offset = splat(int32_t{kDot8Offset});
  unroll<kSub / kLanes>([&](auto i) { store_u8(out.q + i * kLanes, add_i(q.q[i], offset)); });
  out.scale = q.scale;
  out.sum = q.scale * q.sum;
}

constexpr int kTogether =
    8;  // rows converted side by side, because their blocks of one k are neighbours

struct Row {
  const float* x;
  Scaler scaler;
};

// 64 k of row t, from `begin` on.
void prepare_block(const Row& row, int n_in, int begin, const Activations& act, int t) {
  const int n_subs = (n_in + kSub - 1) / kSub, n_blocks = (n_in + kFloatBlock - 1) / kFloatBlock;
  const int n = n_in - begin < kFloatBlock ? n_in - begin : kFloatBlock;
  const ptrdiff_t stride = act.stride(t);
  alignas(64) ActBlockF local;
  ActBlockF& block =
      act.f32 != nullptr ? act.f32[act.first(t, n_blocks) + stride * (begin / kFloatBlock)] : local;
  row.scaler.block(row.x, begin, n, block.x);
  for (int k = 0; k + kSub <= n; k += kSub) {
    const ptrdiff_t at = act.first(t, n_subs) + stride * ((begin + k) / kSub);
    if (act.i16 != nullptr) put(block.x + k, act.i16[at]);
    if (act.i8 != nullptr) put(block.x + k, act.i8[at]);
  }
}

MLXFORGE_INLINE Row make_row(const LinearArgs& args, int n_in, int t) {
  const float* x = args.x + static_cast<ptrdiff_t>(args.rows != nullptr ? args.rows[t] : t) * n_in;
  return {x, Scaler(args, x, n_in)};
}

}  // namespace

void prepare(const LinearArgs& args, int n_in, const Activations& act, Rows rows) noexcept {
  for (int t = rows.begin; t < rows.end; t += kTogether) {
    const int n = rows.end - t < kTogether ? rows.end - t : kTogether;
    Row together[kTogether];
    for (int i = 0; i < n; ++i) together[i] = make_row(args, n_in, t + i);
    for (int begin = 0; begin < n_in; begin += kFloatBlock)
      for (int i = 0; i < n; ++i) prepare_block(together[i], n_in, begin, act, t + i);
  }
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
