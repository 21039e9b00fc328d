// Reasoning before an answer, in the batch: ended by its budget, before the answer's grammar.
#include <regex>

#include "engine/testing/guided_test.h"

namespace mlxforge {
namespace {

class ReasoningTest : public GuidedTest {
 protected:
  std::shared_ptr<const ReasoningTokens> reasoning =
      std::make_shared<const ReasoningTokens>(tokenizer);

  // Of a model whose prompt has begun the reasoning.
  Request thinking(const std::string& regex, std::optional<int> budget, uint64_t seed = 1) {
    Request r = request(regex, seed);
    r.reasoning = {.tokens = reasoning, .stage = ReasoningStage::inside, .budget = budget};
    return r;
  }
};

TEST_F(ReasoningTest, TheBudgetIsTheNumberOfItsTokens) {
  for (const int budget : {0, 1, 20}) {
    Request r = thinking("", budget);
    r.ignore_eos = true;
    const Answer answer = alone(r);
    EXPECT_EQ(text(answer).find("\n</think>"), static_cast<size_t>(budget)) << text(answer);
    EXPECT_EQ(answer.tokens.size(), 60u);
  }
}

TEST_F(ReasoningTest, AnAnswerOfAFormComesBehindIt) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Request r = thinking("yes|no", 20, seed);
    r.sampling.logit_bias = {{kEnd, 100}};  // it would rather end at once
    const Answer answer = alone(r);
    EXPECT_EQ(answer.finish, FinishReason::stop);
    EXPECT_TRUE(std::regex_match(text(answer), std::regex("[\\s\\S]{20}\n</think>(yes|no)")))
        << text(answer);
  }
}

TEST_F(ReasoningTest, TheLimitOnTokensHoldsInsideIt) {
  const Answer answer = alone(thinking("yes|no", {}));
  EXPECT_EQ(answer.finish, FinishReason::length);
  EXPECT_EQ(answer.tokens.size(), 60u);
}

TEST_F(ReasoningTest, TheEndIsForcedWhateverElseIsAskedFor) {
  Request r = thinking("", 5);
  r.stop_ids = {'>' - ' '};
  r.min_tokens = 30;
  r.sampling.logit_bias = {{'<' - ' ', -100}};
  const Answer answer = alone(r);
  EXPECT_EQ(answer.finish, FinishReason::stop) << answer.error.message;
  EXPECT_TRUE(text(answer).ends_with("\n</think"));
}

TEST_F(ReasoningTest, ARowIsAsAloneInAnyCompany) {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 12; ++i) {
    const std::optional<int> budget = i % 3 ? std::optional<int>(5 * i) : std::nullopt;
    requests.push_back(i % 4 == 3 ? request("", i) : thinking(i % 2 ? "" : "[ab]{9}", budget, i));
  }
  Answers expected;
  for (size_t i = 0; i < requests.size(); ++i) expected[i] = alone(requests[i]);
  for (const EngineTweaks& tweaks :
       {EngineTweaks{}, EngineTweaks{.max_batch = 3}, EngineTweaks{.kv_blocks = 8}}) {
    EXPECT_EQ(run(requests, tweaks), expected);
    EXPECT_EQ(preempted, tweaks.kv_blocks == 8);
  }
}

}  // namespace
}  // namespace mlxforge
