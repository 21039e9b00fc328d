#include "kernels/cpu/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace mlxforge::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(size_t n, float spread, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(3, spread);
  std::vector<float> out(n);
  for (float& x : out) x = normal(rng);
  return out;
}

int32_t sample(const std::vector<float>& logits, const SampleParams& params,
               const RandomKey& key = {}) {
  SampleScratch scratch;
  const Sampled s = sample_row(logits, params, key, scratch);
  EXPECT_EQ(s.error, SampleError::none);
  return s.id;
}

// The definition: a full sort, probabilities in double, one filter after the other.
struct Distribution {
  std::vector<int32_t> ids;  // kept, in order
  std::vector<double> p;     // they sum to 1
};
void drop(Distribution& d, auto out) {
  Distribution left;
  double sum = 0;
  for (size_t i = 0; i < d.ids.size(); ++i) {
    if (out(i)) continue;
    left.ids.push_back(d.ids[i]), left.p.push_back(d.p[i]);
    sum += d.p[i];
  }
  for (double& p : left.p) p /= sum;
  d = left;
}

// As transformers' TypicalLogitsWarper computes it.
void keep_typical(Distribution& d, double mass) {
  double entropy = 0;
  for (const double p : d.p) entropy -= p > 0 ? p * std::log(p) : 0;
  std::vector<double> shift;
  for (const double p : d.p) shift.push_back(std::abs(-std::log(p) - entropy));
  std::vector<size_t> order(d.p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shift[a] < shift[b]; });
  double sum = 0;
  size_t last = 0;
  while (last + 1 < order.size() && (sum += d.p[order[last]]) < mass) ++last;
  const double most = shift[order[last]] * (1 + 1e-12);
  drop(d, [&](size_t i) { return shift[i] > most; });
}

// As llama.cpp's llama_sampler_xtc does where chance lets it.
void exclude_top(Distribution& d, double threshold) {
  size_t n = 0;
  while (n < d.p.size() && d.p[n] >= threshold) ++n;
  if (n >= 2) drop(d, [&](size_t i) { return i < n - 1; });
}

Distribution oracle(const std::vector<float>& logits, const SampleParams& s) {
  Distribution d;
  d.ids.resize(logits.size());
  std::iota(d.ids.begin(), d.ids.end(), 0);
  std::sort(d.ids.begin(), d.ids.end(), [&](int32_t a, int32_t b) {
    const float la = logits[static_cast<size_t>(a)], lb = logits[static_cast<size_t>(b)];
    return la != lb ? la > lb : a < b;
  });
  const double most = logits[static_cast<size_t>(d.ids[0])];
  for (const int32_t id : d.ids)
    d.p.push_back(std::exp((logits[static_cast<size_t>(id)] - most) / double{s.temperature}));
  const auto keep = [&](size_t n) {
    d.ids.resize(n), d.p.resize(n);
    const double sum = std::accumulate(d.p.begin(), d.p.end(), 0.0);
    for (double& p : d.p) p /= sum;
  };
  keep(s.top_k > 0 ? std::min(d.ids.size(), static_cast<size_t>(s.top_k)) : d.ids.size());
  double sum = 0;
  size_t n = 0;
  while (n < d.p.size() && (n == 0 || sum < s.top_p)) sum += d.p[n++];
  keep(s.top_p < 1 ? n : d.ids.size());
  for (n = 0; n < d.p.size() && d.p[n] >= d.p[0] * s.min_p;) ++n;
  keep(n);
  if (s.typical_p < 1) keep_typical(d, s.typical_p);
  if (s.xtc_probability >= 1) exclude_top(d, s.xtc_threshold);
  return d;
}

// What `u` in [0, 1) picks from the oracle; also by how much another u would have picked a
// neighbour.
std::pair<int32_t, double> pick(const Distribution& d, double u) {
  double before = 0;
  for (size_t i = 0; i < d.p.size(); before += d.p[i++]) {
    if (u < before + d.p[i] || i + 1 == d.p.size())
      return {d.ids[i], std::min(u - before, before + d.p[i] - u)};
  }
  return {-1, 0};
}

// Sampling agrees with the definition draw by draw. Weights are rounded to 2^-30 and computed in
// f32, which shifts a boundary by a few 1e-7: draws that near to one are left out, and must be
// rare.
void expect_draws_match(const std::vector<float>& logits, const SampleParams& params,
                        int draws = 300) {
  const Distribution d = oracle(logits, params);
  int compared = 0;
  for (int i = 0; i < draws; ++i) {
    const RandomKey key{42, 3, static_cast<uint32_t>(i)};
    const auto [id, margin] = pick(d, static_cast<double>(random_bits(key).draw) * 0x1p-64);
    if (margin < 3e-6) continue;
    ASSERT_EQ(sample(logits, params, key), id) << "draw " << i;
    ++compared;
  }
  EXPECT_GT(compared, draws / 2);
}

TEST(Sample, DrawsMatchTheDefinition) {
  for (const float spread : {0.5f, 2.0f, 8.0f}) {
    for (const size_t n : {1u, 7u, 33u, 1000u, 4000u}) {
      const auto logits = random_logits(n, spread, 1);
      SCOPED_TRACE(testing::Message() << "spread " << spread << " of " << n);
      for (const float t : {0.3f, 1.0f, 2.0f}) {
        expect_draws_match(logits, {.temperature = t}, 100);
        expect_draws_match(logits, {.temperature = t, .top_k = 40}, 100);
        expect_draws_match(logits, {.temperature = t, .top_p = 0.9f}, 100);
        expect_draws_match(logits, {.temperature = t, .min_p = 0.05f}, 100);
        expect_draws_match(logits, {.temperature = t, .min_p = 1e-6f}, 100);
        expect_draws_match(logits, {.temperature = t, .top_k = 100, .top_p = 0.95f, .min_p = 0.01f},
                           100);
        expect_draws_match(logits, {.temperature = t, .typical_p = 0.4f}, 100);
        expect_draws_match(logits, {.temperature = t, .typical_p = 0.95f}, 100);
        expect_draws_match(logits, {.temperature = t, .xtc_probability = 1, .xtc_threshold = 0.02f},
                           100);
        expect_draws_match(logits,
                           {.temperature = t,
                            .top_k = 60,
                            .top_p = 0.97f,
                            .min_p = 0.005f,
                            .typical_p = 0.8f,
                            .xtc_probability = 1,
                            .xtc_threshold = 0.03f},
                           100);
      }
    }
  }
  expect_draws_match(random_logits(128256, 2.5f, 2), {.temperature = 0.8f, .top_p = 0.95f}, 50);
}

// Exactly the oracle's set is ever drawn: from few candidates, with many draws.
TEST(Sample, FiltersKeepExactlyTheirSet) {
  const auto logits = random_logits(20, 1, 3);
  for (const SampleParams& params :
       {SampleParams{.temperature = 3, .top_k = 5}, SampleParams{.temperature = 3, .top_p = 0.6f},
        SampleParams{.temperature = 3, .min_p = 0.7f},
        SampleParams{.temperature = 5, .top_k = 9, .top_p = 0.7f, .min_p = 0.8f},
        SampleParams{.temperature = 3, .typical_p = 0.5f},
        SampleParams{.temperature = 3, .xtc_probability = 1, .xtc_threshold = 0.05f},
        SampleParams{.temperature = 3, .top_p = 0.8f, .typical_p = 0.5f, .xtc_probability = 1}}) {
    auto want = oracle(logits, params).ids;
    std::vector<int32_t> got;
    for (uint32_t i = 0; i < 3000; ++i) got.push_back(sample(logits, params, {9, 0, i}));
    std::sort(want.begin(), want.end());
    std::sort(got.begin(), got.end());
    got.erase(std::unique(got.begin(), got.end()), got.end());
    EXPECT_EQ(got, want);
  }
}

std::vector<int32_t> drawn(const std::vector<float>& probabilities, SampleParams params) {
  std::vector<float> logits;
  for (const float p : probabilities) logits.push_back(std::log(p));
  params.temperature = 1;
  std::vector<int32_t> ids;
  for (uint32_t i = 0; i < 1000; ++i) ids.push_back(sample(logits, params, {5, 0, i}));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// What llama.cpp's own tests expect of these inputs.
TEST(Sample, TypicalAndXtcKeepWhatLlamaCppKeeps) {
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(drawn({0.97f, 0.01f, 0.01f, 0.01f}, {.typical_p = 0.5f}), (Ids{0}));
  EXPECT_EQ(drawn({0.4f, 0.2f, 0.2f, 0.2f}, {.typical_p = 0.5f}), (Ids{1, 2, 3}));
  const auto xtc = [](float threshold) {
    return drawn({0.4f, 0.3f, 0.2f, 0.1f}, {.xtc_probability = 1, .xtc_threshold = threshold});
  };
  EXPECT_EQ(xtc(0.09f), (Ids{3}));
  EXPECT_EQ(xtc(0.19f), (Ids{2, 3}));
  EXPECT_EQ(xtc(0.29f), (Ids{1, 2, 3}));
  EXPECT_EQ(xtc(0.39f), (Ids{0, 1, 2, 3}));  // one candidate is no choice
  EXPECT_EQ(xtc(0.51f), (Ids{0, 1, 2, 3}));
}

// With the likeliest two of four candidates excluded half of the time, ids 0 and 1 come up half as
// often: 10,000 draws of variance p (1 - p) each, five deviations allowed.
TEST(Sample, XtcActsWithItsProbability) {
  const std::vector<float> logits = {0, 0, 0, -1};  // 0.297 each, 0.109
  for (const float probability : {0.f, 0.25f, 0.5f, 1.f}) {
    int first_two = 0;
    const int draws = 10000;
    for (uint32_t i = 0; i < draws; ++i)
      first_two +=
          sample(logits, {.temperature = 1, .xtc_probability = probability, .xtc_threshold = 0.2f},
                 {8, 1, i}) < 2;
    const double p = 2 / (3 + std::exp(-1.0)) * (1 - probability);
    EXPECT_NEAR(first_two, p * draws, 5 * std::sqrt(p * (1 - p) * draws)) << probability;
  }
}

// Pearson's statistic of 60,000 draws over 30 ids has 29 degrees of freedom: above 70 with
// probability 3e-5.
TEST(Sample, FrequenciesAreTheProbabilities) {
  const auto logits = random_logits(30, 1, 4);
  const SampleParams params{.temperature = 1.2f};
  const Distribution d = oracle(logits, params);
  const int draws = 60000;
  std::vector<int> count(logits.size());
  for (int i = 0; i < draws; ++i)
    ++count[static_cast<size_t>(sample(
        logits, params, {static_cast<uint64_t>(i / 1000), 0, static_cast<uint32_t>(i % 1000)}))];
  double statistic = 0;
  for (size_t i = 0; i < d.ids.size(); ++i) {
    const double want = d.p[i] * draws;
    statistic += std::pow(count[static_cast<size_t>(d.ids[i])] - want, 2) / want;
  }
  EXPECT_LT(statistic, 70);
}

TEST(Sample, GreedyTakesTheLowestIdOfTheBest) {
  for (const int n : {1, 5, 31, 32, 33, 100, 1000}) {
    for (int first = 0; first < n; first = 2 * first + 1) {
      std::vector<float> logits(static_cast<size_t>(n), -1);
      for (int i = first; i < n; i += 3) logits[static_cast<size_t>(i)] = 2;
      EXPECT_EQ(sample(logits, {.temperature = 0}), first);
      for (const float t : {1e-4f, 1e-30f, 1e-45f})
        EXPECT_EQ(sample(logits, {.temperature = t, .top_p = 0.5f}, {1, 2, 3}), first);
    }
  }
}

TEST(Sample, OneCandidateFiltersEqualGreedy) {
  std::vector<float> logits = random_logits(500, 1, 5);
  logits[17] = logits[400] = 9;
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(sample(logits, {.temperature = 2, .top_k = 1}, {1, 0, i}), 17);
    EXPECT_EQ(sample(logits, {.temperature = 2, .top_p = 0}, {1, 0, i}), 17);
    EXPECT_EQ(sample(logits, {.temperature = 2, .top_p = 1e-6f}, {1, 0, i}), 17);
    const int32_t id = sample(logits, {.temperature = 2, .min_p = 1}, {1, 0, i});
    EXPECT_TRUE(id == 17 || id == 400);
  }
}

TEST(Sample, OffMeansOff) {
  const auto logits = random_logits(300, 2, 6);
  for (uint32_t i = 0; i < 200; ++i) {
    const int32_t plain = sample(logits, {.temperature = 1}, {1, 0, i});
    for (const int k : {0, -1, 300, 9999999})
      EXPECT_EQ(sample(logits, {.temperature = 1, .top_k = k}, {1, 0, i}), plain);
    EXPECT_EQ(sample(logits, {.temperature = 1, .top_p = 2}, {1, 0, i}), plain);
    EXPECT_EQ(sample(logits, {.temperature = 1, .typical_p = 2}, {1, 0, i}), plain);
    EXPECT_EQ(
        sample(logits, {.temperature = 1, .xtc_probability = 1, .xtc_threshold = 0.6f}, {1, 0, i}),
        plain);
  }
}

TEST(Sample, MaskedAndFlatRows) {
  std::vector<float> logits(50000, -kInf);
  logits[7] = -50, logits[49999] = -51;
  for (const float t : {1.0f, 1e30f, 3e38f, kInf}) {
    for (uint32_t i = 0; i < 20; ++i) {
      const int32_t id = sample(logits, {.temperature = t, .top_k = 10}, {1, 0, i});
      EXPECT_TRUE(id == 7 || id == 49999) << id << " at " << t;
    }
  }
  const std::vector<float> flat(5000, 1.5f);  // in order of id
  for (uint32_t i = 0; i < 20; ++i) {
    const RandomKey key{1, 0, i};
    EXPECT_EQ(sample(flat, {.temperature = 1}, key),
              static_cast<int32_t>(static_cast<double>(random_bits(key).draw) * 0x1p-64 * 5000));
    EXPECT_LT(sample(flat, {.temperature = 1, .top_k = 10}, key), 10);
  }
}

TEST(LogSumExp, IsTheSumInDouble) {
  for (const size_t n : {1u, 7u, 8u, 33u, 1000u, 49152u, 128256u}) {
    for (const float spread : {0.01f, 3.f, 40.f, 1e4f}) {
      const auto logits = random_logits(n, spread, 8);
      const double most = *std::max_element(logits.begin(), logits.end());
      double sum = 0;
      for (const float x : logits) sum += std::exp(x - most);
      EXPECT_NEAR(log_sum_exp(logits), most + std::log(sum), 1e-6 + std::abs(most) * 1e-7)
          << n << " " << spread;
    }
  }
  EXPECT_EQ(log_sum_exp(std::vector<float>{-kInf, 2, -kInf}), 2);
  EXPECT_EQ(log_sum_exp(std::vector<float>{-kInf, -kInf}), -kInf);
  EXPECT_EQ(log_sum_exp({}), -kInf);
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>{1, std::nanf("")})));
}

TEST(Sample, BadRowsAreReported) {
  SampleScratch scratch;
  for (const float t : {0.0f, 1.0f}) {
    for (const size_t n : {1u, 8u, 100u, 1001u}) {
      for (size_t at = 0; at < n; at += 7) {
        std::vector<float> logits(n, 1);
        logits[at] = std::nanf("");
        EXPECT_EQ(sample_row(logits, {.temperature = t}, {}, scratch).error, SampleError::nan);
        logits[at] = kInf;
        EXPECT_EQ(sample_row(logits, {.temperature = t}, {}, scratch).error, SampleError::infinite);
      }
      const Sampled masked =
          sample_row(std::vector<float>(n, -kInf), {.temperature = t}, {}, scratch);
      EXPECT_EQ(masked.error, SampleError::infinite);
      EXPECT_EQ(masked.id, -1);
    }
    EXPECT_EQ(sample_row({}, {.temperature = t}, {}, scratch).error, SampleError::infinite);
  }
}

}  // namespace
}  // namespace mlxforge::cpu
