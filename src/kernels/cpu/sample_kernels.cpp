#include "kernels/cpu/sample_kernels.h"

#include "kernels/cpu/simd.h"
#include "kernels/cpu/simd_math.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

constexpr int kUnroll = 4;
constexpr int kStep = kUnroll * kLanes;

Best best(const float* logits, int n) noexcept {
  constexpr float kInf = __builtin_inff();
  float most[kStep];
  int32_t ids[kStep];
  F32 value[kUnroll], bad = zero();
  I32 at[kUnroll], id[kUnroll];  // of this step; of the best so far
  unroll<kStep>([&](auto i) { ids[i] = i; });
  unroll<kUnroll>(
      [&](auto u) { value[u] = splat(-kInf), id[u] = at[u] = load_i(ids + u * kLanes); });
  int i = 0;
  for (; i + kStep <= n; i += kStep) {
    unroll<kUnroll>([&](auto u) {
      const F32 x = load(logits + i + u * kLanes);
      bad = where_nan(x, splat(1.0f), bad);
      id[u] = as_i32(where_lt(value[u], x, as_f32(at[u]), as_f32(id[u])));
      value[u] = where_lt(value[u], x, x, value[u]);
      at[u] = add_i(at[u], splat(int32_t{kStep}));
    });
  }
  unroll<kUnroll>(
      [&](auto u) { store(most + u * kLanes, value[u]), store_i(ids + u * kLanes, id[u]); });
  Best best{-kInf, 0, max_lane(bad) > 0};
  for (int lane = 0; lane < kStep; ++lane) {
    if (most[lane] > best.logit || (most[lane] == best.logit && ids[lane] < best.id))
      best.logit = most[lane], best.id = ids[lane];
  }
  for (; i < n; ++i) {
    if (logits[i] > best.logit) best.logit = logits[i], best.id = i;
    best.nan |= logits[i] != logits[i];
  }
  return best;
}

MLXFORGE_INLINE I32 weights(F32 logits, Weighting w) {
  const F32 weight = exp_nonpositive((logits - splat(w.max)) * splat(w.inverse_temperature)) *
                     splat(static_cast<float>(kUnitWeight));
  return to_i32(where_lt(logits, splat(-3e38f), zero(),
                         weight));  // masked, though the temperature be infinite
}

uint64_t lane_sum(I32 x) {
  int32_t lanes[kLanes];
  uint64_t sum = 0;
  store_i(lanes, x);
  for (const int32_t lane : lanes) sum += static_cast<uint32_t>(lane);
  return sum;
}

// The two halves of the weights are summed apart, in 32 bits, and carried over before they
// overflow.
uint64_t total(const float* logits, int n, Weighting w) noexcept {
  constexpr int kVectorsPerCarry = 1 << 14;
  uint64_t sum = 0;
  int i = 0;
  while (i + kLanes <= n) {
    I32 low = zero_i(), high = zero_i();
    for (int v = 0; v < kVectorsPerCarry && i + kLanes <= n; ++v, i += kLanes) {
      const I32 x = weights(load(logits + i), w);
      low = add_i(low, and_i(x, splat(int32_t{0xffff})));
      high = add_i(high, srl_i<16>(x));
    }
    sum += lane_sum(low) + (lane_sum(high) << 16);
  }
  int32_t lanes[kLanes];
  store_i(lanes, weights(load_n(logits + i, n - i), w));
  for (int lane = 0; lane < n - i; ++lane) sum += static_cast<uint32_t>(lanes[lane]);
  return sum;
}

// f32 within a block, f64 across blocks.
double sum_exp(const float* logits, int n, float max) noexcept {
  constexpr int kBlock = 32 * kLanes;
  const auto exps = [max](F32 x) { return exp_nonpositive(x - splat(max)); };
  double sum = 0;
  float lanes[kLanes];
  int i = 0;
  while (i + kLanes <= n) {
    F32 part = zero();
    for (const int end = i + kBlock; i < end && i + kLanes <= n; i += kLanes)
      part = part + exps(load(logits + i));
    store(lanes, part);
    for (const float lane : lanes) sum += lane;
  }
  store(lanes, exps(load_n(logits + i, n - i)));
  for (int lane = 0; lane < n - i; ++lane) sum += lanes[lane];
  return sum;
}

// Appends the first `n` lanes that are at least `least`.
MLXFORGE_INLINE Candidate* gather_lanes(F32 x, int first_id, int n, Weighting w, float least,
                                        Candidate* out) {
  float logits[kLanes];
  int32_t weight[kLanes];
  store(logits, x);
  store_i(weight, weights(x, w));
  for (int lane = 0; lane < n; ++lane) {
    *out = {logits[lane], first_id + lane, static_cast<uint32_t>(weight[lane])};
    out += logits[lane] >= least;
  }
  return out;
}

int gather(const float* logits, int n, Weighting w, float least, Candidate* out) noexcept {
  Candidate* const begin = out;
  int i = 0;
  for (; i + kStep <= n; i += kStep) {
    F32 x[kUnroll];
    unroll<kUnroll>([&](auto u) { x[u] = load(logits + i + u * kLanes); });
    if (max_lane(max(max(x[0], x[1]), max(x[2], x[3]))) < least) continue;
    for (int u = 0; u < kUnroll; ++u) {
      if (max_lane(x[u]) >= least) out = gather_lanes(x[u], i + u * kLanes, kLanes, w, least, out);
    }
  }
  for (; i < n; i += kLanes) {
    const int lanes = n - i < kLanes ? n - i : kLanes;
    out = gather_lanes(load_n(logits + i, lanes), i, lanes, w, least, out);
  }
  return static_cast<int>(out - begin);
}

}  // namespace

extern const SampleKernels sample_kernels = {best, total, sum_exp, gather};

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
