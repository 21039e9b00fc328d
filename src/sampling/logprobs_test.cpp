// Log-probabilities against a log_softmax in double and a full sort.
#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace mlxforge {
namespace {

std::vector<float> random_logits(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(2, 5);
  std::vector<float> logits(n);
  for (float& x : logits) x = normal(random);
  return logits;
}

std::vector<double> log_softmax(const std::vector<float>& logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - most);
  std::vector<double> out;
  for (const float x : logits) out.push_back(x - most - std::log(sum));
  return out;
}

TEST(Logprobs, AreTheLogSoftmaxAndTheLikeliestInOrder) {
  for (const size_t n : {1u, 5u, 100u, 5000u}) {
    auto logits = random_logits(n, 1);
    if (n >= 100) logits[70] = logits[3] = 40;  // a tie: the lower id first
    const auto expected = log_softmax(logits);
    std::vector<int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int32_t id) { return std::pair(-logits[id], id); });
    for (const size_t wanted : {0u, 1u, 5u, 20u}) {
      const auto id = order[n / 2];
      const TokenLogprobs got =
          token_logprobs(logits, static_cast<int>(n), id, static_cast<int>(wanted));
      EXPECT_EQ(got.token.id, id);
      EXPECT_NEAR(got.token.logprob, expected[id], 4e-6);
      EXPECT_EQ(got.rank, static_cast<int>(n / 2) + 1);
      ASSERT_EQ(got.top.size(), std::min(wanted, n));
      for (size_t i = 0; i < got.top.size(); ++i) {
        EXPECT_EQ(got.top[i].id, order[i]);
        EXPECT_NEAR(got.top[i].logprob, expected[order[i]], 4e-6);
      }
    }
  }
}

// Ids beyond the tokenizer count in the sum, as in the model's softmax, but are never named.
TEST(Logprobs, PaddingIsSummedAndNotNamed) {
  std::vector<float> logits = random_logits(50, 2);
  logits[45] = 60;
  const auto expected = log_softmax(logits);
  const TokenLogprobs got = token_logprobs(logits, 40, 7, 20);
  EXPECT_NEAR(got.token.logprob, expected[7], 1e-5);
  for (const auto& entry : got.top) EXPECT_LT(entry.id, 40);
}

TEST(Logprobs, MaskedAndBrokenRows) {
  std::vector<float> logits(10, -INFINITY);
  logits[4] = 1;
  const TokenLogprobs got = token_logprobs(logits, 10, 4, 3);
  EXPECT_EQ(got.token.logprob, 0);
  EXPECT_EQ(got.rank, 1);
  EXPECT_EQ(got.top[0].id, 4);
  EXPECT_EQ(got.top[1].logprob, -INFINITY);
  logits[2] = NAN;
  EXPECT_TRUE(std::isnan(token_logprobs(logits, 10, 4, 0).token.logprob));
}

}  // namespace
}  // namespace mlxforge
