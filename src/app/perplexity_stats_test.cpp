#include "app/perplexity_stats.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/check.h"

namespace mlxforge {
namespace {

// Logits of given probabilities: their logarithms, moved by a constant that softmax takes away.
std::vector<float> logits_of(const std::vector<double>& probabilities, double shift) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

TEST(Mean, IsTheMeanAndItsStandardError) {
  Mean mean;
  for (const double value : {1., 2., 3., 6.}) mean.add(value);
  EXPECT_EQ(mean.count(), 4);
  EXPECT_DOUBLE_EQ(mean.value(), 3);
  EXPECT_DOUBLE_EQ(mean.standard_error(), std::sqrt((4. + 1 + 0 + 9) / 3 / 4));
  Mean one;
  one.add(5);
  EXPECT_EQ(one.standard_error(), 0);
}

TEST(PerplexityStats, NegativeLogLikelihoodOfTheTargets) {
  PerplexityStats stats;
  stats.add(logits_of({0.5, 0.25, 0.25}, 100), {}, 0);
  stats.add(logits_of({0.5, 0.25, 0.25}, -100), {}, 2);
  EXPECT_EQ(stats.nll().count(), 2);
  EXPECT_NEAR(stats.nll().value(), (std::log(2.) + std::log(4.)) / 2, 1e-5);
  EXPECT_EQ(stats.kl().count(), 0);
}

TEST(PerplexityStats, DivergenceFromTheExactLogits) {
  PerplexityStats stats;
  const auto exact = logits_of({0.5, 0.375, 0.125}, 3), chosen = logits_of({0.25, 0.5, 0.25}, -1);
  stats.add(chosen, exact, 1);
  stats.add(exact, exact, 1);
  const double kl = 0.5 * std::log(2) + 0.375 * std::log(0.75) + 0.125 * std::log(0.5);
  EXPECT_NEAR(stats.kl().value(), kl / 2, 1e-6);
  EXPECT_NEAR(stats.nll().value(), (std::log(1 / 0.5) + std::log(1 / 0.375)) / 2, 1e-6);
  EXPECT_NEAR(stats.exact_nll().value(), std::log(1 / 0.375), 1e-6);
  ASSERT_EQ(stats.flips().size(), 1u);
  EXPECT_EQ(stats.flips()[0].position, 0);
  EXPECT_EQ(stats.flips()[0].exact, 0);
  EXPECT_EQ(stats.flips()[0].chosen, 1);
  EXPECT_NEAR(stats.flips()[0].gap, std::log(0.5 / 0.375), 1e-6);
  EXPECT_DOUBLE_EQ(stats.top1(), 0.5);
}

TEST(PerplexityStats, OfEqualLogitsTheLowerIdIsTheMostLikely) {
  PerplexityStats stats;
  const std::vector<float> tie = {1, 2, 2}, upper = {1, 1, 2}, lower = {1, 2, 1};
  stats.add(tie, lower, 0);
  EXPECT_TRUE(stats.flips().empty());
  stats.add(tie, upper, 0);
  EXPECT_EQ(stats.flips().size(), 1u);
}

TEST(PerplexityStats, RefusesLogitsThatAreNotFinite) {
  const std::vector<float> good = {1, 2};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    PerplexityStats stats;
    EXPECT_THROW(stats.add(std::vector<float>{1, bad}, good, 0), Error);
    EXPECT_THROW(stats.add(good, std::vector<float>{bad, 1}, 0), Error);
  }
}

}  // namespace
}  // namespace mlxforge
