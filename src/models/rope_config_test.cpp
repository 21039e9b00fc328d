#include "models/rope_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"

namespace mlxforge {
namespace {

Rope rope_of(const Json& config, int dims = 128) {
  ConfigReader reader(config, "test");
  return read_rope(reader, dims, 10000);
}

// Case 4: Llama 3.1's published scaling, base 5e5, head size 128, factor 8, low 1, high 4, original
// 8192.
TEST(RopeConfig, Llama3ScalingGivesThePublishedFrequencies) {
  const auto plain = inverse_frequencies(5e5, 128);
  for (const char* key : {"rope_type", "type"}) {
    const auto rope = rope_of({{"rope_theta", 5e5},
                               {"rope_scaling",
                                {{key, "llama3"},
                                 {"factor", 8},
                                 {"low_freq_factor", 1},
                                 {"high_freq_factor", 4},
                                 {"original_max_position_embeddings", 8192}}}});
    const std::pair<int, double> expected[] = {
        {28, 3.21144599e-3}, {29, 2.16657076e-3}, {30, 1.37189357e-3}, {31, 8.56751413e-4},
        {32, 5.24846161e-4}, {34, 1.78507813e-4}, {35, 9.55621235e-5}};
    for (const auto& [i, value] : expected) {
      EXPECT_NEAR(rope.inv_freq[i] / value, 1, 1e-6) << key << " " << i;
    }
    for (int i = 0; i < 28; ++i) EXPECT_NEAR(rope.inv_freq[i] / plain[i], 1, 2e-6) << i;
    for (int i = 35; i < 64; ++i) EXPECT_NEAR(rope.inv_freq[i] * 8 / plain[i], 1, 2e-6) << i;
  }
}

// Case 4: the same scaling of Llama 3.2 1B (head size 64, factor 32) as divisors, which is how a
// GGUF stores it.
TEST(RopeConfig, Llama3DivisorsOfTheSmallModel) {
  const auto plain = inverse_frequencies(5e5, 64);
  const auto scaled = llama3_frequencies(5e5, 64, {32, 1, 4, 8192});
  const std::pair<int, double> expected[] = {{14, 1},       {15, 1.65133}, {16, 3.29226},
                                             {17, 9.66673}, {18, 32},      {31, 32}};
  for (const auto& [i, divisor] : expected) EXPECT_NEAR(plain[i] / scaled[i], divisor, 1e-4) << i;
}

// Case 5: both places of rope_theta mean the same, and neither falls back to 1e4.
TEST(RopeConfig, ThetaMayStandInRopeParameters) {
  const auto top = rope_of({{"rope_theta", 1000000}});
  const auto nested =
      rope_of({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1000000}}}});
  EXPECT_EQ(top.inv_freq, nested.inv_freq);
  EXPECT_NEAR(top.inv_freq[32], 1e-3, 1e-9);  // 1e6 ^ -(64 / 128)
}

TEST(RopeConfig, LinearDividesPositions) {
  const auto plain = rope_of({{"rope_theta", 10000}});
  const auto scaled = rope_of({{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}});
  EXPECT_EQ(scaled.inv_freq, plain.inv_freq);
  EXPECT_EQ(plain.scale, 1);
  EXPECT_EQ(scaled.scale, 0.25f);
}

TEST(RopeConfig, RefusesByNameWhatItDoesNotUnderstand) {
  const auto message = [](const Json& config) -> std::string {
    try {
      rope_of(config);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message({{"rope_scaling", {{"type", "yarn"}, {"factor", 4}}}}).find("'yarn'"),
            std::string::npos);
  EXPECT_NE(
      message({{"rope_scaling", {{"type", "linear"}, {"rope_type", "llama3"}, {"factor", 2}}}})
          .find("agree"),
      std::string::npos);
  EXPECT_NE(message({{"rope_scaling", {{"type", "linear"}}}}).find("'factor'"), std::string::npos);
  EXPECT_NE(message({{"rope_scaling", {{"type", "linear"}, {"factor", 2}, {"mscale", 1}}}})
                .find("'mscale'"),
            std::string::npos);
  EXPECT_NE(message({{"rope_theta", 1e4}, {"rope_parameters", {{"rope_theta", 1e6}}}})
                .find("one rope_theta"),
            std::string::npos);
}

}  // namespace
}  // namespace mlxforge
