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

  MLXFORGE_INLINE F32 operator()(const float* x, int k, int lanes) const {
    const auto at = [k, lanes](const float* p) {
      return lanes == kLanes ? load(p + k) : load_n(p + k, lanes);
    };
    F32 v = at(x);
    if (norm.kind == Norm::none) return round_to(round, v);
    v = round_to(round, (v - splat(mean)) * splat(inverse));
    if (norm.weight != nullptr) v = round_to(round, v * at(norm.weight));
    if (norm.bias != nullptr) v = round_to(round, v + at(norm.bias));
    return v;
  }
};

// 32 values to integers in [-limit, limit]. A NaN or an infinity makes the scale NaN. Groups below
// 1e-30 are zero.
struct Quantised {
  I32 q[kSub / kLanes];
  float scale;
  int32_t sum;
};
MLXFORGE_INLINE Quantised quantise(const float* x, float limit) {
  constexpr int kN = kSub / kLanes;
  F32 v[kN], top = zero(), poison = zero();
  unroll<kN>([&](auto i) {
    v[i] = load(x + i * kLanes);
    top = max(top, abs(v[i]));
    poison = fma(v[i], zero(), poison);
  });
  const float most = max_lane(top), bad = sum(poison);
  const bool usable = most > 1e-30f && bad == 0.0f;
  const F32 inverse = splat(usable ? limit / most : 0.0f);
  Quantised out;
  out.scale = usable ? most / limit : bad;
  I32 total = zero_i();
  unroll<kN>([&](auto i) {
    const F32 scaled = v[i] * inverse;
    out.q[i] = to_i32(where_nan(scaled, zero(), scaled));
    total = add_i(total, out.q[i]);
  });
  int32_t lanes[kLanes];
  store_i(lanes, total);
  out.sum = 0;
  for (const int32_t lane : lanes) out.sum += lane;
  return out;
}

template <class Block>
MLXFORGE_INLINE void put_sums(const Quantised& q, Block& out) {
  out.scale = q.scale;
  out.sum = q.scale * static_cast<float>(q.sum);
  out.neg_sum = -q.sum;
  out.unused = 0;
}
MLXFORGE_INLINE void put(const float* x, ActBlock16& out) {
  const Quantised q = quantise(x, 32767.0f);
  unroll<kSub / kLanes>([&](auto i) { store_i16_pairs(out.q + i * kLanes, q.q[i]); });
  put_sums(q, out);
}
MLXFORGE_INLINE void put(const float* x, ActBlock8& out) {
  const Quantised q = quantise(x, 127.0f);
  unroll<kSub / kLanes>([&](auto i) { store_i8(out.q + i * kLanes, q.q[i]); });
  put_sums(q, out);
}

constexpr int kTogether =
    8;  // rows converted side by side, because their blocks of one k are neighbours

struct Row {
  const float* x;
  Scaler scaler;
};

// 64 k of row t.
void prepare_block(const Row& row, int n_in, int begin, const Activations& act, int t) {
  alignas(64) ActBlockF block;
  const int n = n_in - begin < kFloatBlock ? n_in - begin : kFloatBlock;
  for (int k = 0; k < kFloatBlock; k += kLanes) {
    const int lanes = n - k < 0 ? 0 : n - k < kLanes ? n - k : kLanes;
    store(block.x + k, row.scaler(row.x, begin + k, lanes));
  }
  const int n_subs = (n_in + kSub - 1) / kSub, n_blocks = (n_in + kFloatBlock - 1) / kFloatBlock;
  const ptrdiff_t stride = act.stride(t);
  if (act.f32 != nullptr) act.f32[act.first(t, n_blocks) + stride * (begin / kFloatBlock)] = block;
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
