// paged_attention at every place it runs, over a ragged batch with scattered blocks, against
// softmax attention in double precision.
#include "kernels/paged_attention.h"

#include <gtest/gtest.h>

#include "kernels/testing.h"

namespace mlxforge {
namespace {

using namespace testing;

struct Case {
  const char* name;
  AttentionShape shape;
  int window = 0;
  float softcap = 0;
  bool sinks = false;
};

const Case kCases[] = {
    {"mha", {.n_q = 2, .n_kv = 2, .d_k = 16, .d_v = 16}},
    {"gqa", {.n_q = 6, .n_kv = 2, .d_k = 32, .d_v = 32}},
    {"one_kv_head_odd_dims", {.n_q = 3, .n_kv = 1, .d_k = 20, .d_v = 12}},
    {"window", {.n_q = 4, .n_kv = 2, .d_k = 16, .d_v = 16}, 8},
    {"window_of_one", {.n_q = 2, .n_kv = 1, .d_k = 16, .d_v = 16}, 1},
    {"softcap", {.n_q = 4, .n_kv = 2, .d_k = 16, .d_v = 16}, 0, 2},
    {"sinks", {.n_q = 4, .n_kv = 2, .d_k = 16, .d_v = 16}, 0, 0, true},
    {"all_of_them", {.n_q = 4, .n_kv = 1, .d_k = 16, .d_v = 16}, 40, 3, false},
};

// A whole prompt, a decode far in, a chunk in the middle of a prompt, a first token.
struct Seq {
  int q_len, kv_len;
  std::vector<int32_t> blocks;
};
const std::vector<Seq> kSeqs = {{37, 37, {9, 3}},
                                {1, 300, {0, 1, 2, 11, 12, 4, 19, 18, 17, 5}},
                                {33, 70, {6, 8, 7}},
                                {1, 1, {10}}};
constexpr int kBlocks = 20, kSlots = kBlocks * 32;

class PagedAttention : public ::testing::TestWithParam<Place> {
 protected:
  const Place place = GetParam();
  const Exec exec = make_exec(place);

  struct Operands {
    std::vector<float> q, k, v, sinks;
    AttentionBatch batch;
    int T = 0;
  };

  static int slot(const Seq& seq, int position) {
    return seq.blocks[position / 32] * 32 + position % 32;
  }

  // Keys and values that no sequence has reached are NaN.
  static Operands operands(const AttentionShape& s) {
    Operands o;
    std::vector<bool> reached(kSlots);
    for (const Seq& seq : kSeqs) {
      o.batch.seqs.push_back(
          {.q_start = o.T, .q_len = seq.q_len, .kv_len = seq.kv_len, .blocks = seq.blocks.data()});
      o.T += seq.q_len;
      for (int p = 0; p < seq.kv_len; ++p) reached[slot(seq, p)] = true;
    }
    o.q = random_values(o.T * s.n_q * s.d_k, 1);
    o.k = random_values(s.n_kv * kSlots * s.d_k, 2);
    o.v = random_values(s.n_kv * kSlots * s.d_v, 3);
    o.sinks = random_values(s.n_q, 4);
    const auto poison = [&](std::vector<float>& x, int d) {
      for (size_t i = 0; i < x.size(); ++i) {
        if (!reached[i / d % kSlots]) x[i] = NAN;
      }
    };
    poison(o.k, s.d_k), poison(o.v, s.d_v);
    return o;
  }

  // Roundings of the arithmetic, relative: of scaled q, a score, a weight and the result.
  double unit_here() const { return std::max(kF32, unit(place.act)); }

  // Head h of the row at `position` of seq.
  std::vector<Bounded> attend(const Operands& o, const Case& c, const Seq& seq, int row,
                              int position, int h) const {
    const auto& s = c.shape;
    const float* q = o.q.data() + (row * s.n_q + h) * s.d_k;
    const double scale = 1 / std::sqrt(double(s.d_k));
    const int first = c.window > 0 ? std::max(0, position - c.window + 1) : 0;
    std::vector<double> scores;
    double error = 0;  // of any score
    for (int p = first; p <= position; ++p) {
      const float* k = o.k.data() + (h * s.n_kv / s.n_q * kSlots + slot(seq, p)) * s.d_k;
      double dot = 0, size = 0;
      for (int i = 0; i < s.d_k; ++i) dot += q[i] * k[i], size += std::abs(q[i] * k[i]);
      dot *= scale;
      error = std::max(error, scale * size * ((s.d_k + 4) * kF32 + 4 * unit_here()));
      scores.push_back(c.softcap > 0 ? c.softcap * std::tanh(dot / c.softcap) : dot);
    }
    if (c.softcap > 0) error += 8 * kF32 * c.softcap;
    double most = c.sinks ? o.sinks[h] : -INFINITY, total = 0;
    for (const double score : scores) most = std::max(most, score);
    if (c.sinks) total = std::exp(o.sinks[h] - most);
    for (const double score : scores) total += std::exp(score - most);
    // exp(score) is off by its score's error and by how exp treats a number of this size.
    const double weight_error =
        std::expm1(2 * error) + kF32 * (8 + most + scores.size()) + unit_here();
    std::vector<Bounded> out(s.d_v);
    for (size_t j = 0; j < scores.size(); ++j) {
      const float* v = o.v.data() + (h * s.n_kv / s.n_q * kSlots + slot(seq, first + j)) * s.d_v;
      const double weight = std::exp(scores[j] - most) / total;
      for (int i = 0; i < s.d_v; ++i) {
        out[i].value += weight * v[i];
        out[i].error += std::abs(weight * v[i]) * (2 * weight_error + scores.size() * kF32) +
                        0x1p-25 * std::abs(v[i]);
      }
    }
    for (auto& value : out) value = value.rounded(place.act);
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Places, PagedAttention, ::testing::ValuesIn(all_places()), place_name);

TEST_P(PagedAttention, MatchesSoftmaxOfTheOwnKeys) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto& s = c.shape;
    const Operands o = operands(s);
    const KvPool pool{array_of(o.k, {s.n_kv, kSlots, s.d_k}, exec.kv),
                      array_of(o.v, {s.n_kv, kSlots, s.d_v}, exec.kv)};
    AttentionParams params{.scale = static_cast<float>(1 / std::sqrt(double(s.d_k))),
                           .window = c.window,
                           .softcap = c.softcap,
                           .sinks = {}};
    if (c.sinks) params.sinks = array_of(o.sinks, {s.n_q}, mx::float32);
    const auto y = paged_attention(exec, array_of(o.q, {o.T, s.n_q * s.d_k}, exec.between()), pool,
                                   o.batch, s, params);
    std::vector<Bounded> want;
    int row = 0;
    for (const Seq& seq : kSeqs) {
      for (int i = 0; i < seq.q_len; ++i, ++row) {
        for (int h = 0; h < s.n_q; ++h) {
          const auto head = attend(o, c, seq, row, seq.kv_len - seq.q_len + i, h);
          want.insert(want.end(), head.begin(), head.end());
        }
      }
    }
    EXPECT_EQ(y.dtype(), exec.between());
    expect_within(floats_of(y), want);
    EXPECT_TRUE(on_grid(floats_of(y), place.grid()));
  }
}

}  // namespace
}  // namespace mlxforge
