#include "kernels/cpu/attention_kernels.h"

#include <type_traits>

#include "kernels/cpu/simd.h"
#include "kernels/cpu/simd_math.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

constexpr float kInf = __builtin_inff();

constexpr int min_int(int a, int b) { return a < b ? a : b; }
constexpr int max_int(int a, int b) { return a < b ? b : a; }
constexpr int round_down(int x, int step) { return x / step * step; }
constexpr int round_up(int x, int step) { return (x + step - 1) / step * step; }

template <KvType type>
using Element = std::conditional_t<type == KvType::f32, float, uint16_t>;

MLXFORGE_INLINE F32 load_kv(std::integral_constant<KvType, KvType::f32>, const float* p) {
  return load(p);
}
MLXFORGE_INLINE F32 load_kv(std::integral_constant<KvType, KvType::f16>, const uint16_t* p) {
  return load_f16(p);
}
MLXFORGE_INLINE F32 load_kv(std::integral_constant<KvType, KvType::bf16>, const uint16_t* p) {
  return load_bf16(p);
}
MLXFORGE_INLINE F32 load_kv_n(std::integral_constant<KvType, KvType::f32>, const float* p, int n) {
  return load_n(p, n);
}
MLXFORGE_INLINE F32 load_kv_n(std::integral_constant<KvType, KvType::f16>, const uint16_t* p,
                              int n) {
  return load_f16_n(p, n);
}
MLXFORGE_INLINE F32 load_kv_n(std::integral_constant<KvType, KvType::bf16>, const uint16_t* p,
                              int n) {
  return load_bf16_n(p, n);
}
template <KvType type>
constexpr std::integral_constant<KvType, type> kTag{};

// Rows go in groups of R = 1, 2 or 4. A group's scores, then weights, lie key by key:
// (kPartialKeys, R).

// Brings memory near that is wanted soon; null: nothing. The hardware's own prefetch stops at
// pages, and a block is one.
MLXFORGE_INLINE void prefetch(const void* p, size_t bytes) {
  for (size_t i = 0; p != nullptr && i < bytes; i += 64)
    __builtin_prefetch(static_cast<const char*>(p) + i);
}

// Dot products in flight at once in score_keys: a multiple of kLanes, enough to hide the latency of
// fma.
constexpr int kDots = kLanes == 4 ? 8 : kLanes;

// scores[j][r] = q_r . k_j for keys j in [first, last) of a block, both multiples of kDots / R.
// Each dot product is kLanes running sums over d, then a fixed tree, whatever R. q (R, d), k
// (kBlockTokens, d), scores (kPartialKeys, R) from the block's first key on; next: the block to
// prefetch, or null
template <KvType type, int R>
void score_keys(const float* q, const Element<type>* k, int d, int first, int last, float* scores,
                const Element<type>* next) {
  constexpr int kKeys = kDots / R;
  for (int key = first; key < last; key += kKeys) {
    prefetch(next ? next + key * d : nullptr, sizeof(*k) * static_cast<size_t>(kKeys * d));
    F32 acc[kDots];
    unroll<kDots>([&](auto i) { acc[i] = zero(); });
    for (int i = 0; i < d; i += kLanes) {
      F32 k_lanes[kKeys];
      unroll<kKeys>([&](auto j) { k_lanes[j] = load_kv(kTag<type>, k + (key + j) * d + i); });
      unroll<R>([&](auto r) {
        const F32 q_lanes = load(q + r * d + i);
        unroll<kKeys>([&](auto j) { acc[j * R + r] = fma(q_lanes, k_lanes[j], acc[j * R + r]); });
      });
    }
    unroll<kDots / kLanes>(
        [&](auto g) { store(scores + key * R + g * kLanes, sums(acc + g * kLanes)); });
  }
}

// values[r][0 .. C kLanes) += weights[j][r] * v_j over keys j in [first, last), in that order.
// weights (kPartialKeys, R) from the block's first key on, v (kBlockTokens, d), values (R, d);
// next: as above
template <KvType type, int R, int C>
MLXFORGE_INLINE void add_value_columns(const float* weights, const Element<type>* v, int d,
                                       int first, int last, float* values,
                                       const Element<type>* next) {
  F32 acc[R * C];
  unroll<R>([&](auto r) {
    unroll<C>([&](auto c) { acc[r * C + c] = load(values + r * d + c * kLanes); });
  });
  for (int key = first; key < last; ++key) {
    prefetch(next ? next + key * d : nullptr, sizeof(*v) * C * kLanes);
    F32 v_lanes[C];
    unroll<C>([&](auto c) { v_lanes[c] = load_kv(kTag<type>, v + key * d + c * kLanes); });
    unroll<R>([&](auto r) {
      const F32 weight = splat(weights[key * R + r]);
      unroll<C>([&](auto c) { acc[r * C + c] = fma(weight, v_lanes[c], acc[r * C + c]); });
    });
  }
  unroll<R>([&](auto r) {
    unroll<C>([&](auto c) { store(values + r * d + c * kLanes, acc[r * C + c]); });
  });
}
template <KvType type, int R>
void add_values(const float* weights, const Element<type>* v, int d, int first, int last,
                float* values, const Element<type>* next) {
  constexpr int C = (kLanes == 8 ? 8 : 16) / R;  // as many sums as the registers hold
  int column = 0;
  for (; column + C * kLanes <= d; column += C * kLanes) {
    const bool new_line = column * sizeof(*v) % 64 == 0;
    add_value_columns<type, R, C>(weights, v + column, d, first, last, values + column,
                                  next && new_line ? next + column : nullptr);
  }
  for (; column < d; column += kLanes)
    add_value_columns<type, R, 1>(weights, v + column, d, first, last, values + column, nullptr);
}

// A block's keys [first, last) as f32, zero-padded to padded_dim(d).
template <KvType type>
void widen(const Element<type>* x, int d, int first, int last, float* out) {
  const int padded = padded_dim(d);
  for (int key = first; key < last; ++key) {
    for (int i = 0; i < padded; i += kLanes) {
      const Element<type>* p = x + key * d + i;
      store(out + key * padded + i,
            i + kLanes <= d ? load_kv(kTag<type>, p) : load_kv_n(kTag<type>, p, max_int(d - i, 0)));
    }
  }
}

// Calls f(kRows, row) over `rows` rows: alone, in pairs or in fours; scratch holds rows to fill the
// last four.
template <class F>
MLXFORGE_INLINE void for_row_groups(int rows, F&& f) {
  if (rows == 1) return f(Index<1>{}, 0);
  if (rows == 2) return f(Index<2>{}, 0);
  for (int row = 0; row < rows; row += 4) f(Index<4>{}, row);
}

int group_of(const AttentionArgs& a) { return a.n_q / a.kv.n_kv; }
int rows_of(const AttentionTile& t) { return t.row_end - t.row_begin; }

// Keys that the tile's row r sees.
KeyRange row_keys(const AttentionArgs& a, const AttentionTile& t, int r) {
  const int last = t.seq->kv_len - t.seq->q_len + (t.row_begin + r) / group_of(a) + 1;
  return {a.window > 0 ? max_int(0, last - a.window) : 0, last};
}

// The head's rows of block `index` of the sequence.
template <KvType type>
const Element<type>* block_rows(const AttentionArgs& a, const AttentionTile& t, const void* pool,
                                int d, int index) {
  const int64_t slot = int64_t{t.seq->blocks[index]} * kBlockTokens;
  return static_cast<const Element<type>*>(pool) + (t.kv_head * a.kv.n_slots + slot) * d;
}

// Rows whose dims fill whole vectors are read from the pool as they are, others are widened first.
template <KvType type>
void score_block(const AttentionArgs& a, const AttentionTile& t, int index, int first, int last,
                 const AttentionScratch& s, const Element<type>* next) {
  const int d = a.kv.d_k, padded = padded_dim(d), at = index * kBlockTokens % kPartialKeys;
  const Element<type>* k = block_rows<type>(a, t, a.kv.k, d, index);
  first = round_down(first, kDots),
  last = round_up(last, kDots);  // the most that one step of score_keys takes
  if (d != padded) widen<type>(k, d, first, last, s.block);
  for_row_groups(rows_of(t), [&](auto R, int r) {
    const float* q = s.q + r * padded;
    float* scores = s.scores + r * kPartialKeys + at * R;
    if (d != padded)
      return score_keys<KvType::f32, R>(q, s.block, padded, first, last, scores, nullptr);
    score_keys<type, R>(q, k, d, first, last, scores, r == 0 ? next : nullptr);
  });
}

template <KvType type>
void value_block(const AttentionArgs& a, const AttentionTile& t, int index, int first, int last,
                 const AttentionScratch& s, float* values, const Element<type>* next) {
  const int d = a.kv.d_v, padded = padded_dim(d), at = index * kBlockTokens % kPartialKeys;
  const Element<type>* v = block_rows<type>(a, t, a.kv.v, d, index);
  if (d != padded) widen<type>(v, d, first, last, s.block);
  for_row_groups(rows_of(t), [&](auto R, int r) {
    const float* weights = s.scores + r * kPartialKeys + at * R;
    float* row_values = values + r * padded;
    if (d != padded)
      return add_values<KvType::f32, R>(weights, s.block, padded, first, last, row_values, nullptr);
    add_values<type, R>(weights, v, d, first, last, row_values, r == 0 ? next : nullptr);
  });
}

// Combines lanes of the same row, which stand R apart, by a fixed tree: the same for every R when
// the vectors of a stretch of kLanes keys have been combined by halves before.
template <int R, class Combine>
MLXFORGE_INLINE void combine_lanes(float* lanes, Combine combine) {
  for (int half = kLanes / 2; half >= R; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
}
template <int R>
MLXFORGE_INLINE F32 sum_halves(F32* x) {
  if constexpr (R == 4) x[0] = x[0] + x[2], x[1] = x[1] + x[3];
  if constexpr (R >= 2) x[0] = x[0] + x[1];
  return x[0];
}

// Scores to weights exp(score - max), zero outside each row's keys. Keys [begin, end), both
// multiples of kLanes; row_keys[r] counts from the partial's first key. scores (kPartialKeys, R),
// max and sum (R)
template <int R>
void softmax_rows(float softcap, const KeyRange* row_keys, int begin, int end, float* scores,
                  float* max, float* sum) {
  const int from = begin * R, to = end * R;
  for (int i = from; softcap > 0 && i < to; i += kLanes)
    store(scores + i, splat(softcap) * tanh(load(scores + i) / splat(softcap)));
  for (int r = 0; r < R; ++r) {
    for (int j = begin; j < min_int(row_keys[r].first, end); ++j) scores[j * R + r] = -kInf;
    for (int j = max_int(row_keys[r].last, begin); j < end; ++j) scores[j * R + r] = -kInf;
  }
  F32 most = splat(-kInf), total[R];
  for (int i = from; i < to; i += kLanes) most = cpu::MLXFORGE_CPU_ISA::max(most, load(scores + i));
  float lanes[kLanes];
  store(lanes, most);
  combine_lanes<R>(lanes, [](float x, float y) { return x < y ? y : x; });
  memcpy(max, lanes, sizeof(float) * R);
  for (int i = 0; i < kLanes; ++i) lanes[i] = max[i % R] == -kInf ? 0 : max[i % R];
  const F32 base = load(lanes);
  unroll<R>([&](auto v) { total[v] = zero(); });
  for (int i = from; i < to; i += R * kLanes) {  // a stretch of kLanes keys
    unroll<R>([&](auto v) {
      const F32 weight = exp_nonpositive(load(scores + i + v * kLanes) - base);
      store(scores + i + v * kLanes, weight);
      total[v] = total[v] + weight;
    });
  }
  store(lanes, sum_halves<R>(total));
  combine_lanes<R>(lanes, [](float x, float y) { return x + y; });
  memcpy(sum, lanes, sizeof(float) * R);
}

template <KvType type>
void partial_of(const AttentionArgs& a, const AttentionTile& t, KeyRange range, int index,
                const AttentionScratch& s, const PartialView& out) {
  const int start = index * kPartialKeys;  // scores and weights are indexed from here
  const int first = max_int(range.first, start), last = min_int(range.last, start + kPartialKeys);
  const int first_block = first / kBlockTokens,
            end_block = round_up(last, kBlockTokens) / kBlockTokens;
  const auto for_blocks = [&](auto f) {
    for (int b = first_block; b < end_block; ++b)
      f(b, max_int(first - b * kBlockTokens, 0), min_int(last - b * kBlockTokens, kBlockTokens));
  };
  // The blocks are read in this order: K of the partial, V of the partial, K of the next one.
  const auto k_rows = [&](int b) {
    return b * kBlockTokens < range.last ? block_rows<type>(a, t, a.kv.k, a.kv.d_k, b) : nullptr;
  };
  const auto v_rows = [&](int b) { return block_rows<type>(a, t, a.kv.v, a.kv.d_v, b); };
  for_blocks([&](int b, int from, int to) {
    score_block<type>(a, t, b, from, to, s,
                      b + 1 < end_block ? k_rows(b + 1) : v_rows(first_block));
  });
  const int begin = round_down(first - start, kLanes), end = round_up(last - start, kLanes);
  for_row_groups(rows_of(t), [&](auto R, int r) {
    KeyRange keys[R];
    for (int i = 0; i < R; ++i) {
      keys[i] = row_keys(a, t, min_int(r + i, rows_of(t) - 1));
      keys[i].first -= start, keys[i].last -= start;
    }
    softmax_rows<R>(a.softcap, keys, begin, end, s.scores + r * kPartialKeys, out.max + r,
                    out.sum + r);
  });
  memset(out.values, 0,
         sizeof(float) * static_cast<size_t>(round_up(rows_of(t), 4) * padded_dim(a.kv.d_v)));
  for_blocks([&](int b, int from, int to) {
    value_block<type>(a, t, b, from, to, s, out.values,
                      b + 1 < end_block ? v_rows(b + 1) : k_rows(b + 1));
  });
}

void partial(const AttentionArgs& a, const AttentionTile& t, KeyRange range, int index,
             const AttentionScratch& s, const PartialView& out) noexcept {
  switch (a.kv.type) {
    case KvType::f32:
      return partial_of<KvType::f32>(a, t, range, index, s, out);
    case KvType::f16:
      return partial_of<KvType::f16>(a, t, range, index, s, out);
    case KvType::bf16:
      return partial_of<KvType::bf16>(a, t, range, index, s, out);
  }
}

// The row's place in the flat batch, in units of heads.
int64_t head_index(const AttentionArgs& a, const AttentionTile& t, int r) {
  const int group = group_of(a), row = t.row_begin + r;
  return int64_t{t.seq->q_start + row / group} * a.n_q + t.kv_head * group + row % group;
}

void load_queries(const AttentionArgs& a, const AttentionTile& t,
                  const AttentionScratch& s) noexcept {
  const int d = a.kv.d_k, padded = padded_dim(d), rows = rows_of(t);
  memset(s.q, 0, sizeof(float) * static_cast<size_t>(round_up(rows, 4) * padded));
  for (int r = 0; r < rows; ++r) {
    const float* q = a.q + head_index(a, t, r) * d;
    for (int i = 0; i < d; ++i) s.q[r * padded + i] = q[i] * a.scale;
  }
}

// No key seen yet; a sink has been.
void start(const AttentionArgs& a, const AttentionTile& t, const PartialView& total) noexcept {
  for (int r = 0; r < rows_of(t); ++r) {
    total.max[r] = a.sinks ? a.sinks[head_index(a, t, r) % a.n_q] : -kInf;
    total.sum[r] = a.sinks ? 1.0f : 0.0f;
  }
  memset(total.values, 0, sizeof(float) * static_cast<size_t>(rows_of(t) * padded_dim(a.kv.d_v)));
}

void merge(const AttentionArgs& a, int rows, const PartialView& total,
           const PartialView& one) noexcept {
  const int padded = padded_dim(a.kv.d_v);
  for (int r = 0; r < rows; ++r) {
    if (one.sum[r] == 0) continue;  // no key seen
    const float max = total.max[r] < one.max[r] ? one.max[r] : total.max[r];
    const F32 old = exp_nonpositive(splat(total.max[r]) - splat(max)),
              fresh = exp_nonpositive(splat(one.max[r]) - splat(max));
    float lanes[kLanes];
    store(lanes, fma(splat(total.sum[r]), old, splat(one.sum[r]) * fresh));
    total.sum[r] = lanes[0];
    total.max[r] = max;
    for (int i = 0; i < padded; i += kLanes) {
      float* value = total.values + r * padded + i;
      store(value, fma(load(value), old, load(one.values + r * padded + i) * fresh));
    }
  }
}

void finish(const AttentionArgs& a, const AttentionTile& t, const PartialView& total) noexcept {
  const int d = a.kv.d_v, padded = padded_dim(d);
  for (int r = 0; r < rows_of(t); ++r) {
    float* out = a.out + head_index(a, t, r) * d;
    const F32 scale = splat(1.0f) / splat(total.sum[r]);
    for (int i = 0; i < d; i += kLanes) {
      // Masked keys add zeros, which may turn a -0 into +0: adding 0 leaves +0 either way.
      const F32 value = fma(load(total.values + r * padded + i), scale, zero());
      if (i + kLanes <= d)
        store(out + i, value);
      else
        store_n(out + i, value, d - i);
    }
  }
}

}  // namespace

extern const AttentionKernels attention_kernels = {load_queries, partial, start, merge, finish};

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
