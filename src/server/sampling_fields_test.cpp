// How the next token is to be chosen, as requests and models say it.
#include "server/sampling_fields.h"

#include <gtest/gtest.h>

#include "server/testing/api_fixture.h"
#include "text/sequence_breakers.h"

namespace mlxforge {
namespace {

using SamplingFields = Api;

TEST_F(SamplingFields, ReadsSamplingParameters) {
  const SamplingParams s =
      request(
          chat(
              R"("temperature":0.5,"top_p":0.25,"top_k":7,"min_p":0.125,"seed":18446744073709551615)"))
          .sampling;
  EXPECT_FLOAT_EQ(s.temperature, 0.5);
  EXPECT_FLOAT_EQ(s.top_p, 0.25);
  EXPECT_EQ(s.top_k, 7);
  EXPECT_FLOAT_EQ(s.min_p, 0.125);
  EXPECT_EQ(s.seed, ~uint64_t{0});
  EXPECT_EQ(request(chat(R"("seed":-1)")).sampling.seed, ~uint64_t{0});
  EXPECT_EQ(request(chat(R"("seed":-9223372036854775808)")).sampling.seed, uint64_t{1} << 63);
  EXPECT_EQ(request(chat(R"("seed":42)")).sampling.seed, 42u);
  EXPECT_EQ(request(chat(R"("seed":1e19)")).sampling.seed, 10'000'000'000'000'000'000u);
  EXPECT_EQ(request(chat(R"("max_tokens":10.0)")).max_tokens, 10);
}

TEST_F(SamplingFields, ReadsLogitProcessors) {
  const SamplingParams s =
      request(chat(R"("logit_bias":{"5":-100,"257":2.5},"repetition_penalty":1.5,
          "frequency_penalty":-0.5,"presence_penalty":2,"repeat_last_n":64,"typical_p":0.25,
          "xtc_probability":0.5,"xtc_threshold":0.125,"dry_multiplier":0.75,"dry_base":2,
          "dry_allowed_length":3,"dry_penalty_last_n":512,"dry_sequence_breakers":["b","cd"])"))
          .sampling;
  ASSERT_EQ(s.logit_bias.size(), 2u);
  EXPECT_EQ(s.logit_bias[0].id, 5);
  EXPECT_EQ(s.logit_bias[0].bias, -100);
  EXPECT_EQ(s.logit_bias[1].id, 257);
  EXPECT_EQ(s.logit_bias[1].bias, 2.5);
  EXPECT_EQ(s.penalties.repetition, 1.5);
  EXPECT_EQ(s.penalties.frequency, -0.5);
  EXPECT_EQ(s.penalties.presence, 2);
  EXPECT_EQ(s.penalties.last_n, 64);
  EXPECT_EQ(s.typical_p, 0.25);
  EXPECT_EQ(s.xtc_probability, 0.5);
  EXPECT_EQ(s.xtc_threshold, 0.125);
  EXPECT_EQ(s.dry.multiplier, 0.75);
  EXPECT_EQ(s.dry.base, 2);
  EXPECT_EQ(s.dry.allowed_length, 3);
  EXPECT_EQ(s.dry.last_n, 512);
  EXPECT_EQ(s.dry.breakers->tokens_since(bytes_of("abacdaa")), 2u);
  const Dry dry = request(chat(R"("dry_multiplier":1)")).sampling.dry;
  EXPECT_EQ(dry.breakers->tokens_since(bytes_of("a\nb:cde")), 3u);
  EXPECT_EQ(dry.last_n, -1);
}

TEST_F(SamplingFields, UnseededRequestsGetDifferentSeeds) {
  EXPECT_NE(request(chat("")).sampling.seed, request(chat("")).sampling.seed);
}

// Case 36: cold enough is greedy, and greedy is exact.
TEST_F(SamplingFields, ZeroTopPAndTinyTemperaturesAreGreedy) {
  for (const char* fields : {R"("temperature":0)", R"("temperature":-0.0)", R"("temperature":1e-4)",
                             R"("temperature":1e-30)", R"("temperature":1e-320)", R"("top_p":0)",
                             R"("top_p":0,"temperature":1.5)"})
    EXPECT_EQ(request(chat(fields)).sampling.temperature, 0) << fields;
  EXPECT_GT(request(chat(R"("temperature":0.01)")).sampling.temperature, 0);
  EXPECT_TRUE(std::isfinite(request(chat(R"("temperature":1e300)")).sampling.temperature));
}

// Case 38.
TEST_F(SamplingFields, TopKOffValues) {
  for (const char* fields : {R"("top_k":0)", R"("top_k":-1)", R"("top_k":9999999)",
                             R"("top_k":99999999999999999999)", R"("top_k":258)"})
    EXPECT_EQ(request(chat(fields)).sampling.top_k, 0) << fields;
  EXPECT_EQ(request(chat(R"("top_k":1)")).sampling.top_k, 1);
}

TEST_F(SamplingFields, TheModelsDefaultsFillWhatIsAbsent) {
  model_->defaults = {.temperature = 0.25,
                      .top_k = 5,
                      .top_p = 0.5,
                      .min_p = 0.125,
                      .typical_p = 0.75,
                      .repetition_penalty = 1.25};
  const SamplingParams s = request(chat("")).sampling;
  EXPECT_FLOAT_EQ(s.temperature, 0.25);
  EXPECT_EQ(s.top_k, 5);
  EXPECT_FLOAT_EQ(s.top_p, 0.5);
  EXPECT_FLOAT_EQ(s.min_p, 0.125);
  EXPECT_FLOAT_EQ(s.typical_p, 0.75);
  EXPECT_FLOAT_EQ(s.penalties.repetition, 1.25);
  EXPECT_FLOAT_EQ(request(chat(R"("repetition_penalty":1)")).sampling.penalties.repetition, 1);
  EXPECT_EQ(request(chat(R"("top_k":0)")).sampling.top_k, 0);
}

}  // namespace
}  // namespace mlxforge
