// Answers that follow a grammar, in the batch: as alone in any company, ended as the grammar and
// the request say.
#include <regex>

#include "engine/testing/guided_test.h"

namespace mlxforge {
namespace {

using ConstraintTest = GuidedTest;

const char* const kRegexes[] = {"[a-c]{4}(,[0-9]+)*;", "(yes|no)+", "\\{\"k\":[0-9]{1,5}\\}",
                                ".{0,30}", "x(y*z)?"};

TEST_F(ConstraintTest, AnswersMatchAndEndWithStop) {
  for (const char* regex : kRegexes) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Answer answer = alone(request(regex, seed));
      const auto whole = std::regex(regex);
      if (answer.finish == FinishReason::stop)
        EXPECT_TRUE(std::regex_match(text(answer), whole)) << regex << ": " << text(answer);
      else
        EXPECT_EQ(answer.finish, FinishReason::length) << answer.error.message;
    }
  }
  EXPECT_EQ(text(alone(request("only this"))), "only this");
}

TEST_F(ConstraintTest, ARowIsAsAloneInAnyCompany) {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 12; ++i) {
    requests.push_back(request(i % 4 == 3 ? "" : kRegexes[i % 5], i));
    if (i % 3 == 1) requests.back().sampling.penalties = {.repetition = 1.3f, .frequency = 0.5f};
    if (i % 3 == 2) requests.back().sampling.dry = {.multiplier = 1};
    if (i % 5 == 0) requests.back().sampling.temperature = 0;
  }
  Answers expected;
  for (size_t i = 0; i < requests.size(); ++i) expected[i] = alone(requests[i]);
  for (const EngineTweaks& tweaks :
       {EngineTweaks{}, EngineTweaks{.threads = 1, .prefill_chunk = 3},
        EngineTweaks{.max_batch = 3}, EngineTweaks{.kv_blocks = 8},
        EngineTweaks{.kernels = KernelChoice::reference, .max_batch = 12}}) {
    const Answers answers = run(requests, tweaks);
    EXPECT_EQ(preempted, tweaks.kv_blocks == 8);
    if (tweaks.kernels == KernelChoice::reference) {  // other bits, the same promise
      for (const auto& [id, answer] : answers) EXPECT_NE(answer.finish, FinishReason::error);
    } else {
      EXPECT_EQ(answers, expected);
    }
  }
}

TEST_F(ConstraintTest, MinTokensAndIgnoreEosHoldWhereTheGrammarMayGoOn) {
  Request r = request("a*b?");
  r.sampling.logit_bias = {{kEnd, 100}, {'b' - ' ', -100}};
  EXPECT_EQ(text(alone(r)), "");
  r.min_tokens = 20;
  EXPECT_EQ(text(alone(r)), std::string(20, 'a'));
  r.ignore_eos = true;
  const Answer full = alone(r);
  EXPECT_EQ(full.finish, FinishReason::length);
  EXPECT_EQ(text(full), std::string(60, 'a'));
  // Where nothing can follow they do not.
  r = request("abc");
  r.min_tokens = 20;
  r.ignore_eos = true;
  const Answer ended = alone(r);
  EXPECT_EQ(text(ended), "abc");
  EXPECT_EQ(ended.finish, FinishReason::stop);
  EXPECT_EQ(ended.predicted_n, 3);
}

TEST_F(ConstraintTest, TheGrammarWinsOverBias) {
  Request r = request("[ab]{5}");
  r.sampling.logit_bias = {{'x' - ' ', 100}, {'a' - ' ', -100}};
  EXPECT_EQ(text(alone(r)), "bbbbb");
  r = request("a{5}");
  r.sampling.logit_bias = {{'a' - ' ', -100}};
  EXPECT_EQ(text(alone(r)), "aaaaa");
}

TEST_F(ConstraintTest, ARowWithoutAnyTokenFailsAlone) {
  Request dead = request("a?");  // may be empty, but its end is forbidden
  dead.min_tokens = 5;
  dead.sampling.logit_bias = {{'a' - ' ', 100}};
  dead.stop_ids = {'a' - ' '};  // and so is the only other token
  const Request other = request("[ab]{8}", 3);
  const Answer expected = alone(other);
  const Answers answers = run({dead, other});
  EXPECT_EQ(answers.at(0).finish, FinishReason::error);
  EXPECT_EQ(answers.at(0).error.code, Code::invalid_request);
  EXPECT_EQ(answers.at(0).error.param, "min_tokens");
  EXPECT_EQ(answers.at(1), expected);
}

TEST_F(ConstraintTest, StopTokensAndLimitsCutItAsEver) {
  Request r = request("[ab]+c");
  r.sampling.logit_bias = {{'a' - ' ', 100}, {'b' - ' ', -100}, {'c' - ' ', -100}};
  r.max_tokens = 7;
  EXPECT_EQ(alone(r).finish, FinishReason::length);
  EXPECT_EQ(text(alone(r)), "aaaaaaa");
  r.stop_ids = {'a' - ' '};
  EXPECT_EQ(alone(r).finish, FinishReason::stop);
  EXPECT_EQ(text(alone(r)), "");
}

}  // namespace
}  // namespace mlxforge
