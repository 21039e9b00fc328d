#include "app/generation_config.h"

#include <gtest/gtest.h>

#include "app/session.h"
#include "base/check.h"
#include "base/log.h"

namespace mlxforge {
namespace {

TEST(SamplingDefaults, FileThenOpenAi) {
  const SamplingDefaults none = sampling_defaults(nullptr);
  EXPECT_EQ(none.temperature, 1);
  EXPECT_EQ(none.top_p, 1);
  const SamplingDefaults some = sampling_defaults(Json{{"temperature", 0.6},
                                                       {"top_p", 0.9},
                                                       {"top_k", 40},
                                                       {"min_p", nullptr},
                                                       {"repetition_penalty", 1.05}});
  EXPECT_EQ(some.temperature, 0.6);
  EXPECT_EQ(some.top_p, 0.9);
  EXPECT_EQ(some.top_k, 40);
  EXPECT_EQ(some.min_p, 0);
  EXPECT_EQ(some.repetition_penalty, 1.05);
  EXPECT_EQ(sampling_defaults(Json{{"temperature", 0.6}, {"do_sample", false}}).temperature, 0);
  EXPECT_EQ(sampling_defaults(Json{{"temperature", 0.6}, {"do_sample", true}}).temperature, 0.6);
}

TEST(SamplingDefaults, RefusesWhatIsNoNumber) {
  for (const Json& bad :
       {Json{{"temperature", "hot"}}, Json{{"top_p", 1.5}}, Json{{"top_k", -2}},
        Json{{"min_p", true}}, Json{{"top_k", 40.5}}, Json{{"repetition_penalty", 0}}})
    EXPECT_THROW(sampling_defaults(bad), Error) << bad;
}

TEST(SamplingDefaults, SaysWhatItDoesNotFollow) {
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel, std::string_view line) { warnings.emplace_back(line); });
  sampling_defaults(Json{{"no_repeat_ngram_size", 0}, {"num_beams", 1}, {"eta_cutoff", nullptr}});
  EXPECT_TRUE(warnings.empty());
  sampling_defaults(Json{{"no_repeat_ngram_size", 3}, {"suppress_tokens", {5}}});
  set_log_sink([](LogLevel, std::string_view) {});
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("no_repeat_ngram_size 3"), std::string::npos);
  EXPECT_NE(warnings[1].find("suppress_tokens [5]"), std::string::npos);
}

// Case 27: the union of all three sources, each an id or a list.
TEST(StopSet, IsTheUnionInAnyArrangement) {
  const std::vector<int32_t> want = {1, 7, 106};
  const auto file = [](Json ids) { return Json{{"eos_token_id", std::move(ids)}}; };
  EXPECT_EQ(stop_set(file(7), file({1, 7}), {106}), want);
  EXPECT_EQ(stop_set(file({106, 7}), file(1), {1}), want);
  EXPECT_EQ(stop_set(file({1, 7, 106}), nullptr, {}), want);
  EXPECT_EQ(stop_set(nullptr, file(Json::array()), {7, 106, 1}), want);
  EXPECT_EQ(stop_set(file(nullptr), Json::object(), {1, 7, 106}), want);
  EXPECT_THROW(stop_set(file("</s>"), nullptr, {}), Error);
  EXPECT_THROW(stop_set(nullptr, file({1.5}), {}), Error);
  EXPECT_THROW(stop_set(file(-1), nullptr, {}), Error);
  EXPECT_THROW(stop_set(file(int64_t{1} << 32), nullptr, {}), Error);
}

}  // namespace
}  // namespace mlxforge
