// The prologue of linear(): norm, rounding, and the conversion of a row to the kinds of activations
// its weights need.
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

F32 round_to(Round round, F32 x) {
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
  const Norm& norm;
  Round round;
  float mean = 0;
  float inverse = 1;

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

  F32 operator()(const float* x, int k, int lanes) const {
    F32 v = load_n(x + k, lanes);
    if (norm.kind == Norm::none) return round_to(round, v);
    v = round_to(round, (v - splat(mean)) * splat(inverse));
    if (norm.weight != nullptr) v = round_to(round, v * load_n(norm.weight + k, lanes));
    if (norm.bias != nullptr) v = round_to(round, v + load_n(norm.bias + k, lanes));
    return v;
  }
};

// 32 values to integers in [-limit, limit]. A NaN or an infinity makes the scale NaN. Groups below
// 1e-30 are zero.
struct Quantised {
  int32_t q[kSub];
  float scale;
  int32_t sum;
};
Quantised quantise(const float* x, float limit) {
  F32 top = zero(), poison = zero();
  for (int k = 0; k < kSub; k += kLanes) {
    const F32 v = load(x + k);
    top = max(top, abs(v));
    poison = fma(v, zero(), poison);
  }
  const float most = max_lane(top), bad = sum(poison);
  Quantised out;
  const bool usable = most > 1e-30f && bad == 0.0f;
  const float inverse = usable ? limit / most : 0.0f;
  out.scale = usable ? most / limit : bad;
  I32 total = zero_i();
  for (int k = 0; k < kSub; k += kLanes) {
    const F32 scaled = load(x + k) * splat(inverse);
    const I32 q = to_i32(where_nan(scaled, zero(), scaled));
    store_i(out.q + k, q);
    total = add_i(total, q);
  }
  int32_t lanes[kLanes];
  store_i(lanes, total);
  out.sum = 0;
  for (const int32_t lane : lanes) out.sum += lane;
  return out;
}

template <class Block>
void put_sums(const Quantised& q, Block& out) {
  out.scale = q.scale;
  out.sum = q.scale * static_cast<float>(q.sum);
  out.neg_sum = -q.sum;
  out.unused = 0;
}
void put(const float* x, ActBlock16& out) {
  const Quantised q = quantise(x, 32767.0f);
  for (int k = 0; k < kSub; k += 4) {
    out.q[k] = static_cast<int16_t>(q.q[k]);
    out.q[k + 1] = static_cast<int16_t>(q.q[k + 2]);
    out.q[k + 2] = static_cast<int16_t>(q.q[k + 1]);
    out.q[k + 3] = static_cast<int16_t>(q.q[k + 3]);
  }
  put_sums(q, out);
}
void put(const float* x, ActBlock8& out) {
  const Quantised q = quantise(x, 127.0f);
  for (int k = 0; k < kSub; ++k) out.q[k] = static_cast<int8_t>(q.q[k]);
  put_sums(q, out);
}

void prepare_row(const LinearArgs& args, int n_in, const Activations& act, int t) {
  const float* x = args.x + static_cast<ptrdiff_t>(args.rows != nullptr ? args.rows[t] : t) * n_in;
  const Scaler scaler(args, x, n_in);
  for (int begin = 0; begin < n_in; begin += kFloatBlock) {
    alignas(64) ActBlockF block = {};
    const int n = n_in - begin < kFloatBlock ? n_in - begin : kFloatBlock;
    for (int k = 0; k < n; k += kLanes)
      store(block.x + k, scaler(x, begin + k, n - k < kLanes ? n - k : kLanes));
    if (act.f32 != nullptr)
      act.f32[static_cast<ptrdiff_t>(begin / kFloatBlock) * act.n_rows + t] = block;
    for (int k = 0; k + kSub <= n; k += kSub) {
      const ptrdiff_t at = static_cast<ptrdiff_t>((begin + k) / kSub) * act.n_rows + t;
      if (act.i16 != nullptr) put(block.x + k, act.i16[at]);
      if (act.i8 != nullptr) put(block.x + k, act.i8[at]);
    }
  }
}

}  // namespace

void prepare(const LinearArgs& args, int n_in, const Activations& act, Rows rows) noexcept {
  for (int t = rows.begin; t < rows.end; ++t) prepare_row(args, n_in, act, t);
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
