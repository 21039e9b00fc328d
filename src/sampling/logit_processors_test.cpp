// Each processor against its formula, written out id by id, and against what its inventors'
// programs do.
#include "sampling/logit_processors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sampling/params.h"

namespace mlxforge {
namespace {

using Ids = std::vector<int32_t>;

constexpr int kVocab = 12;

Ids random_ids(size_t n, uint32_t seed, int below = kVocab) {
  std::mt19937 random(seed);
  Ids ids(n);
  for (auto& id : ids) id = static_cast<int32_t>(random() % below);
  return ids;
}

std::vector<float> random_logits(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(kVocab);
  for (float& x : logits) x = normal(random);
  return logits;
}

std::vector<float> process(std::vector<float> logits, const SamplingParams& params,
                           const Ids& tokens, size_t n_prompt) {
  ProcessorScratch scratch;
  process_logits(logits, params, {tokens, n_prompt}, scratch);
  for (const uint32_t count : scratch.counts) EXPECT_EQ(count, 0u);
  return logits;
}

Ids last(const Ids& tokens, int n) {
  return n < 0 || n >= int(tokens.size()) ? tokens : Ids(tokens.end() - n, tokens.end());
}

TEST(LogitProcessors, NoneChangesNothing) {
  const auto logits = random_logits(1);
  EXPECT_EQ(process(logits, {}, random_ids(50, 1), 20), logits);
  EXPECT_EQ(process(logits,
                    {.penalties = {.repetition = 2, .frequency = 1, .last_n = 0},
                     .dry = {.multiplier = 1, .last_n = 0}},
                    random_ids(50, 1), 20),
            logits);
}

TEST(LogitProcessors, BiasIsAdded) {
  auto expected = random_logits(1);
  expected[3] += 2.5f, expected[0] -= 100, expected[3] += 1;
  EXPECT_EQ(
      process(random_logits(1), {.logit_bias = {{3, 2.5f}, {0, -100}, {3, 1}, {kVocab, 7}}}, {}, 0),
      expected);
}

// transformers' RepetitionPenaltyLogitsProcessor: once per id, whatever its count, prompt included.
TEST(LogitProcessors, RepetitionPenaltyDividesOrMultiplies) {
  for (const float p : {0.5f, 1.3f, 10.f}) {
    for (const int last_n : {-1, 0, 1, 5, 1000}) {
      const Ids tokens = random_ids(9, 2);
      auto expected = random_logits(3);
      const Ids seen = last(tokens, last_n);
      for (int id = 0; id < kVocab; ++id)
        if (std::ranges::count(seen, id) > 0)
          expected[id] = expected[id] < 0 ? expected[id] * p : expected[id] / p;
      EXPECT_EQ(
          process(random_logits(3), {.penalties = {.repetition = p, .last_n = last_n}}, tokens, 4),
          expected);
    }
  }
}

// OpenAI: mu[j] -> mu[j] - c[j] * alpha_frequency - float(c[j] > 0) * alpha_presence, c of the
// output.
TEST(LogitProcessors, FrequencyAndPresenceCountTheOutputOnly) {
  for (const auto& [frequency, presence] : {std::pair{0.5f, 0.f}, {0.f, -1.f}, {2.f, 1.25f}}) {
    for (const int last_n : {-1, 3, 1000}) {
      const Ids tokens = random_ids(40, 4, 5);
      const size_t n_prompt = 15;
      const Ids output = last(Ids(tokens.begin() + n_prompt, tokens.end()), last_n);
      auto expected = random_logits(5);
      for (int id = 0; id < kVocab; ++id) {
        const auto c = static_cast<float>(std::ranges::count(output, id));
        if (c > 0) expected[id] -= c * frequency + presence;
      }
      const SamplingParams params{
          .penalties = {.frequency = frequency, .presence = presence, .last_n = last_n}};
      EXPECT_EQ(process(random_logits(5), params, tokens, n_prompt), expected);
    }
  }
}

// By definition: for every position, compare what stands before it with the end of the text.
std::vector<float> dry(std::vector<float> logits, const Dry& d, const Ids& all) {
  const Ids tokens = last(all, d.last_n);
  const int n = static_cast<int>(tokens.size());
  for (int id = 0; id < kVocab; ++id) {
    int longest = -1;
    for (int i = 0; i < n; ++i) {
      int length = 0;
      while (length < i && tokens[i - 1 - length] == tokens[n - 1 - length]) ++length;
      if (tokens[i] == id) longest = std::max(longest, length);
    }
    if (longest >= d.allowed_length)
      logits[id] -= d.multiplier * std::pow(d.base, float(longest - d.allowed_length));
  }
  return logits;
}

TEST(LogitProcessors, DryPenalisesWhatContinuesARepetition) {
  std::mt19937 random(6);
  for (uint32_t round = 0; round < 2000; ++round) {
    const Ids tokens = random_ids(random() % 40, round, 1 + random() % 4);
    const Dry d{.multiplier = 0.8f,
                .base = 1.75f,
                .allowed_length = static_cast<int>(1 + random() % 4),
                .last_n = random() % 2 ? -1 : static_cast<int>(random() % 30)};
    EXPECT_EQ(process(random_logits(7), {.dry = d}, tokens, 0), dry(random_logits(7), d, tokens));
  }
}

// The probabilities that llama.cpp's own tests expect.
TEST(LogitProcessors, DryGivesLlamaCppsProbabilities) {
  const auto expect = [](int n, const Ids& tokens, const Dry& d, const std::vector<float>& wanted) {
    std::vector<float> logits = process(std::vector<float>(n, 0), {.dry = d}, tokens, 0);
    float sum = 0;
    for (float& x : logits) sum += x = std::exp(x);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(logits[i] / sum, wanted[i], 1e-6) << i;
  };
  const Dry d{.multiplier = 1, .base = 1.1f, .allowed_length = 2};
  expect(4, {0, 1}, d, {0.25f, 0.25f, 0.25f, 0.25f});
  expect(4, {0, 1, 2, 0, 1}, d, {0.296923f, 0.296923f, 0.109232f, 0.296923f});
  expect(5, {0, 1, 2, 0, 1}, {.multiplier = 2, .base = 1.1f, .allowed_length = 2},
         {0.241818f, 0.241818f, 0.032727f, 0.241818f, 0.241818f});
  expect(5, {0, 1, 2, 3, 4, 0, 1}, {.multiplier = 1, .base = 1.1f, .allowed_length = 4},
         {0.2f, 0.2f, 0.2f, 0.2f, 0.2f});
}

TEST(LogitProcessors, TheyApplyInTheirOrder) {
  const Ids tokens = {1, 2, 3, 1, 2};
  std::vector<float> logits(kVocab, -1);
  logits[3] = -1;
  // bias 3, repetition / 2, frequency and presence (output {3, 1, 2}), then dry.
  const SamplingParams params{.logit_bias = {{3, 4}},
                              .penalties = {.repetition = 2, .frequency = 0.25f, .presence = 0.5f},
                              .dry = {.multiplier = 0.125f}};
  EXPECT_FLOAT_EQ(process(logits, params, tokens, 2)[3], (-1 + 4) / 2.f - 0.25f - 0.5f - 0.125f);
}

// A text that repeats itself for long asks for a penalty beyond any float.
TEST(LogitProcessors, ResultsStayFinite) {
  for (const float x :
       process(random_logits(8), {.dry = {.multiplier = 100, .base = 100}}, Ids(5000, 3), 0))
    EXPECT_TRUE(std::isfinite(x));
}

TEST(LogitProcessors, IdsOutsideTheRowAreNotTouched) {
  const Ids tokens = {kVocab, 99, kVocab, 99, kVocab};
  const SamplingParams params{.penalties = {.repetition = 2, .frequency = 1},
                              .dry = {.multiplier = 1, .allowed_length = 1}};
  EXPECT_EQ(process(random_logits(9), params, tokens, 0), random_logits(9));
}

}  // namespace
}  // namespace mlxforge
