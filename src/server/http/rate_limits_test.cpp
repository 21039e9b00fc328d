#include "server/http/rate_limits.h"

#include <gtest/gtest.h>

namespace mlxforge {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart{seconds(1000)};

TEST(RateLimits, WithoutRulesEverythingMayBegin) {
  RateLimits limits({});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(limits.begin("a", kStart), 0);
    limits.spend("a", 1'000'000, kStart);
  }
}

TEST(RateLimits, RequestsRefillEvenlyUpToAMinutesWorth) {
  RateLimits limits({.requests_per_minute = 6});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(limits.begin("a", kStart), 0);
  EXPECT_DOUBLE_EQ(limits.begin("a", kStart), 10);
  EXPECT_DOUBLE_EQ(limits.begin("a", kStart + seconds(4)), 6);
  EXPECT_EQ(limits.begin("b", kStart + seconds(4)), 0) << "another key's bucket is its own";
  EXPECT_EQ(limits.begin("a", kStart + seconds(10)), 0);
  EXPECT_GT(limits.begin("a", kStart + seconds(10)), 0);
  const TimePoint later = kStart + seconds(1000);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(limits.begin("a", later), 0);
  EXPECT_GT(limits.begin("a", later), 0);
}

TEST(RateLimits, ALongAnswerLeavesADebt) {
  RateLimits limits({.tokens_per_minute = 600});
  EXPECT_EQ(limits.begin("a", kStart), 0);
  limits.spend("a", 700, kStart);
  EXPECT_NEAR(limits.begin("a", kStart), 10.1, 1e-9);
  EXPECT_GT(limits.begin("a", kStart + milliseconds(10'099)), 0);
  EXPECT_EQ(limits.begin("a", kStart + milliseconds(10'101)), 0);
  EXPECT_EQ(limits.begin("b", kStart), 0);
}

TEST(RateLimits, ARefusalCostsNothing) {
  RateLimits limits({.requests_per_minute = 1, .tokens_per_minute = 60});
  EXPECT_EQ(limits.begin("a", kStart), 0);
  limits.spend("a", 90, kStart);
  for (int i = 0; i < 10; ++i) EXPECT_DOUBLE_EQ(limits.begin("a", kStart), 60);
  EXPECT_EQ(limits.begin("a", kStart + seconds(60)), 0);
}

}  // namespace
}  // namespace mlxforge
