// Sampler: rows keep to themselves. (What a row's parameters mean is tested in kernels/cpu.)
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace mlxforge {
namespace {

constexpr int kVocab = 300, kValid = 280;

// A request's logits, and how it wants them sampled.
struct Wish {
  std::vector<float> logits;
  SamplingParams params;
  uint32_t output_index = 0;
  std::vector<int32_t> banned = {};
  std::vector<uint32_t> allowed = {};

  // A prompt and as many tokens as have been generated, of few ids so that they repeat.
  std::vector<int32_t> history() const {
    std::vector<int32_t> tokens(kPrompt + output_index);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 7);
    return tokens;
  }
  static constexpr size_t kPrompt = 20;
};

std::vector<float> random_logits(uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(kVocab);
  for (float& v : logits) v = normal(rng);
  return logits;
}

int32_t best(const std::vector<float>& logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.begin() + kValid) -
                              logits.begin());
}

class SamplerTest : public ::testing::Test {
 protected:
  ThreadPool pool{2};
  Sampler sampler{kValid, pool};

  std::vector<SampledToken> sample(std::vector<Wish> wishes) {
    std::vector<SampledToken> results(wishes.size());
    std::vector<std::vector<int32_t>> histories;
    for (const Wish& wish : wishes) histories.push_back(wish.history());
    std::vector<SampleRow> rows;
    for (size_t i = 0; i < wishes.size(); ++i) {
      Wish& wish = wishes[i];
      rows.push_back({.logits = wish.logits,
                      .params = &wish.params,
                      .history = {histories[i], Wish::kPrompt},
                      .allowed = wish.allowed,
                      .banned = wish.banned,
                      .result = &results[i]});
    }
    sampler.sample(rows);
    return results;
  }
  int32_t one(const Wish& wish) {
    const auto result = sample({wish})[0];
    EXPECT_TRUE(result.error.ok()) << result.error.message;
    return result.id;
  }
};

// Case 12, and more of its kind: every row as it is alone, in whatever company and order.
TEST_F(SamplerTest, ARowDoesNotDependOnItsCompany) {
  std::vector<Wish> wishes;
  constexpr uint32_t kKinds = 12;
  for (uint32_t i = 0; i < 3 * kKinds; ++i) {
    const SamplingParams kinds[kKinds] = {
        {.temperature = 0},
        {.temperature = 1, .top_k = 1},
        {.temperature = 1.5f, .top_p = 0.9f, .seed = 7},
        {.temperature = 0.7f, .top_k = 5, .seed = i},
        {.temperature = 2, .min_p = 0.05f, .seed = 9, .choice = i},
        {.temperature = 1, .seed = 11},
        {.logit_bias = {{3, 100}, {279, -100}}},
        {.temperature = 1, .penalties = {.repetition = 1.7f}},
        {.penalties = {.frequency = 1.5f, .presence = -2, .last_n = 9}},
        {.dry = {.multiplier = 2, .allowed_length = 1}},
        {.temperature = 1, .typical_p = 0.3f, .seed = 5},
        {.temperature = 2, .xtc_probability = 0.5f, .seed = i}};
    wishes.push_back({random_logits(i / 3), kinds[i % kKinds], i / kKinds, {}});
    if (i % 5 == 2) wishes.back().allowed.assign(9, 0x12345678u + i);
    if (i % 4 == 1) wishes.back().banned = {static_cast<int32_t>(i), best(wishes.back().logits)};
  }
  std::vector<int32_t> alone;
  for (const Wish& wish : wishes) alone.push_back(one(wish));
  EXPECT_EQ(alone[0], best(wishes[0].logits));
  EXPECT_EQ(
      alone[kKinds + 1],
      sample({{wishes[kKinds + 1].logits, {.temperature = 0}, 0, wishes[kKinds + 1].banned}})[0]
          .id);

  std::vector<size_t> order(wishes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 rng(1);
  for (int trial = 0; trial < 8; ++trial) {
    std::shuffle(order.begin(), order.end(), rng);
    std::vector<Wish> some;
    for (size_t i = 0; i < order.size() - trial; ++i) some.push_back(wishes[order[i]]);
    const auto results = sample(some);
    for (size_t i = 0; i < some.size(); ++i) EXPECT_EQ(results[i].id, alone[order[i]]);
  }
}

// Case 38: the padding of a vocabulary is never sampled, however large its logits.
TEST_F(SamplerTest, IdsBeyondTheTokenizerAreNeverSampled) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    auto logits = random_logits(seed);
    std::fill(logits.begin() + kValid, logits.end(), 1000.f);
    EXPECT_LT(one({logits, {.temperature = 0}}), kValid);
    EXPECT_LT(one({logits, {.temperature = 5, .seed = seed}}), kValid);
  }
  auto logits = random_logits(1);
  std::fill(logits.begin() + kValid, logits.end(), NAN);  // not even looked at
  EXPECT_EQ(one({logits, {.temperature = 0}}), best(logits));
}

TEST_F(SamplerTest, BannedIdsAreNeverSampled) {
  const auto logits = random_logits(3);
  const int32_t first = best(logits);
  auto without = logits;
  without[first] = -100;
  EXPECT_EQ(one({logits, {.temperature = 0}, 0, {first}}), best(without));
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const auto id = one({logits, {.temperature = 3, .seed = seed}, 0, {first, 0, 5, 279}});
    EXPECT_TRUE(id != first && id != 0 && id != 5 && id != 279) << id;
  }
}

TEST_F(SamplerTest, SeedChoiceAndOutputIndexAreTheKey) {
  const auto logits = random_logits(4);
  const auto draws = [&](auto vary) {
    std::vector<int32_t> ids;
    for (uint32_t i = 0; i < 40; ++i) {
      Wish wish{logits, {.temperature = 2, .seed = 1}};
      vary(wish, i);
      ids.push_back(one(wish));
    }
    return ids;
  };
  const auto distinct = [](std::vector<int32_t> ids) {
    std::ranges::sort(ids);
    return std::unique(ids.begin(), ids.end()) - ids.begin();
  };
  const auto by_index = draws([](Wish& w, uint32_t i) { w.output_index = i; });
  const auto by_choice = draws([](Wish& w, uint32_t i) { w.params.choice = i; });
  const auto by_seed = draws([](Wish& w, uint32_t i) { w.params.seed = i; });
  // Of 280 lively candidates 40 free draws hit far more than 10; a key that is ignored hits 1.
  EXPECT_GT(distinct(by_index), 10);
  EXPECT_GT(distinct(by_choice), 10);
  EXPECT_GT(distinct(by_seed), 10);
  EXPECT_EQ(draws([](Wish& w, uint32_t i) { w.output_index = i; }), by_index);
  EXPECT_EQ(distinct(draws([](Wish&, uint32_t) {})), 1);
}

// Case 7: a row without usable logits is an error of that row alone, never token 0.
TEST_F(SamplerTest, UnusableLogitsFailTheirRowAlone) {
  const std::vector<float> good = random_logits(5);
  auto one_nan = good, all_nan = good, infinite = good, masked = good;
  one_nan[17] = NAN;
  std::fill(all_nan.begin(), all_nan.end(), NAN);
  infinite[17] = INFINITY;
  std::fill(masked.begin(), masked.end(), -INFINITY);
  for (const float temperature : {0.f, 1.f}) {
    const SamplingParams params{.temperature = temperature, .seed = 3};
    const auto results = sample({{good, params},
                                 {one_nan, params},
                                 {all_nan, params},
                                 {infinite, params},
                                 {masked, params},
                                 {good, params}});
    EXPECT_TRUE(results[0].error.ok());
    EXPECT_EQ(results[5].id, results[0].id);
    EXPECT_EQ(results[5].id, one({good, params}));
    for (int i = 1; i < 5; ++i) {
      EXPECT_EQ(results[i].error.code, Code::internal) << i;
      EXPECT_EQ(results[i].id, -1) << i;
      EXPECT_NE(results[i].error.message.find(i < 3 ? "NaN" : "infinite"), std::string::npos);
    }
  }
}

// min_tokens and stop ids that leave nothing: the request's fault, not the model's.
TEST_F(SamplerTest, BanningEveryTokenIsTheRequestsFault) {
  std::vector<int32_t> all(kValid);
  std::iota(all.begin(), all.end(), 0);
  auto infinite = random_logits(1);
  infinite[17] = INFINITY;
  const auto results = sample({{random_logits(1), {}, 0, all}, {infinite, {}, 0, {3}}});
  EXPECT_EQ(results[0].error.code, Code::invalid_request);
  EXPECT_EQ(results[0].error.param, "min_tokens");
  EXPECT_EQ(results[1].error.code, Code::internal);
}

// Of the raw logits, whatever processors, bans and temperature do to them.
TEST_F(SamplerTest, LogprobsAreThoseOfTheRawLogits) {
  const auto raw = random_logits(6);
  auto logits = raw;
  const SamplingParams params{.temperature = 2,
                              .seed = 3,
                              .logit_bias = {{7, 100}},
                              .penalties = {.repetition = 3},
                              .dry = {.multiplier = 1}};
  const std::vector<int32_t> history = {7, 7, 9, 7, 7};
  SampledToken result;
  sampler.sample(std::vector<SampleRow>{{.logits = logits,
                                         .params = &params,
                                         .history = {history, 2},
                                         .banned = {best(raw)},
                                         .n_logprobs = 5,
                                         .result = &result}});
  EXPECT_EQ(result.id, 7);
  const TokenLogprobs expected = token_logprobs(raw, kValid, 7, 5);
  EXPECT_EQ(result.logprobs.token.id, 7);
  EXPECT_EQ(result.logprobs.token.logprob, expected.token.logprob);
  EXPECT_EQ(result.logprobs.top[0].id, best(raw));
  EXPECT_EQ(result.logprobs.top[4].logprob, expected.top[4].logprob);
}

TEST_F(SamplerTest, NoRowsIsNoWork) {
  sampler.sample({});
  sampler.score({});
}

}  // namespace
}  // namespace mlxforge
