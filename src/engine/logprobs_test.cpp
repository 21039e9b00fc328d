// Log-probabilities of the output and of the prompt, against the logits that Scoring gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/engine.h"
#include "engine/testing/tiny_model.h"

namespace mlxforge {
namespace {

struct Scored {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> output, prompt;
  FinishReason finish = FinishReason::none;
};

void absorb(std::map<RequestId, Scored>& all, const std::vector<StepEvent>& events) {
  for (const auto& event : events) {
    Scored& scored = all[event.id];
    scored.tokens.insert(scored.tokens.end(), event.tokens.begin(), event.tokens.end());
    scored.output.insert(scored.output.end(), event.logprobs.begin(), event.logprobs.end());
    scored.prompt.insert(scored.prompt.end(), event.prompt_logprobs.begin(),
                         event.prompt_logprobs.end());
    scored.finish = event.finish;
  }
}

std::map<RequestId, Scored> run(const TinyModel& model, const std::vector<Request>& requests,
                                const EngineTweaks& tweaks = {}) {
  auto engine = make_engine(model, tweaks);
  std::map<RequestId, Scored> all;
  for (size_t i = 0; i < requests.size(); ++i) engine->submit(i, requests[i], Clock::now());
  while (!engine->idle()) absorb(all, engine->step());
  EXPECT_EQ(engine->stats().kv_blocks_used, 0);
  return all;
}

void expect_scores(const TokenLogprobs& got, const float* logits, int32_t id, int n_top) {
  double sum = 0;
  for (int i = 0; i < kVocab; ++i) sum += std::exp(double{logits[i]});
  EXPECT_EQ(got.token.id, id);
  EXPECT_NEAR(got.token.logprob, logits[id] - std::log(sum), 2e-6);
  ASSERT_EQ(got.top.size(), size_t(n_top));
  for (const auto& entry : got.top)
    EXPECT_NEAR(entry.logprob, logits[entry.id] - std::log(sum), 2e-6);
}

Request scored_request(int n_prompt, uint32_t seed) {
  return {.prompt = random_prompt(n_prompt, seed),
          .sampling = {.temperature = 1.5f,
                       .top_k = 20,
                       .seed = seed,
                       .penalties = {.repetition = 1.5f},
                       .dry = {.multiplier = 1}},
          .max_tokens = 12,
          .logprobs = 4,
          .prompt_logprobs = 2};
}

TEST(EngineLogprobs, AreTheLogSoftmaxOfTheTeacherForcedLogits) {
  const TinyModel model;
  const Request r = scored_request(50, 3);
  const Scored got = run(model, {r})[0];
  ASSERT_EQ(got.tokens.size(), 12u);
  ASSERT_EQ(got.output.size(), 12u);
  ASSERT_EQ(got.prompt.size(), 49u);

  auto ids = r.prompt;
  ids.insert(ids.end(), got.tokens.begin(), got.tokens.end());
  const auto engine = make_engine(model);
  const auto scoring = engine->score(ids, static_cast<int>(ids.size()));
  const auto rows = scoring->next();
  for (size_t i = 1; i < ids.size(); ++i) {
    const bool of_prompt = i < r.prompt.size();
    const TokenLogprobs& scores = of_prompt ? got.prompt[i - 1] : got.output[i - r.prompt.size()];
    expect_scores(scores, rows.data() + (i - 1) * kVocab, ids[i], of_prompt ? 2 : 4);
  }
}

bool same(const std::vector<TokenLogprobs>& a, const std::vector<TokenLogprobs>& b) {
  return std::ranges::equal(a, b, [](const TokenLogprobs& x, const TokenLogprobs& y) {
    const auto equal = [](const TokenLogprob& p, const TokenLogprob& q) {
      return p.id == q.id && p.logprob == q.logprob;  // to the bit
    };
    return equal(x.token, y.token) && x.rank == y.rank && std::ranges::equal(x.top, y.top, equal);
  });
}

// Chunked, in company with others that ask for other things, and preempted on the way.
TEST(EngineLogprobs, AreTheSameBitsInAnyCompany) {
  const TinyModel model;
  std::vector<Request> requests;
  for (int i = 0; i < 6; ++i) {
    requests.push_back(scored_request(5 + 17 * i, 10 + i));
    if (i % 3 == 1) requests.back().prompt_logprobs = -1;
    if (i % 3 == 2) requests.back().logprobs = -1;
  }
  requests[3].max_tokens = 0;
  std::vector<Scored> alone;
  for (const Request& r : requests) alone.push_back(run(model, {r})[0]);
  for (const EngineTweaks& tweaks :
       {EngineTweaks{}, EngineTweaks{.threads = 1, .prefill_chunk = 5},
        EngineTweaks{.kv_blocks = 6}, EngineTweaks{.prefill_chunk = 300, .max_batch = 2}}) {
    auto together = run(model, requests, tweaks);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(together[i].tokens, alone[i].tokens) << i;
      EXPECT_TRUE(same(together[i].output, alone[i].output)) << i;
      EXPECT_TRUE(same(together[i].prompt, alone[i].prompt)) << i;
    }
  }
}

TEST(EngineLogprobs, WithoutTokensThePromptIsScoredAllTheSame) {
  const TinyModel model;
  for (const int n_prompt : {1, 2, 33, 70}) {
    Request r = scored_request(n_prompt, 5);
    r.max_tokens = 0;
    const Scored got = run(model, {r})[0];
    EXPECT_TRUE(got.tokens.empty());
    EXPECT_TRUE(got.output.empty());
    EXPECT_EQ(got.prompt.size(), size_t(n_prompt - 1));
    EXPECT_EQ(got.finish, FinishReason::length);
    Request more = r;
    more.max_tokens = 1;
    EXPECT_TRUE(same(got.prompt, run(model, {more})[0].prompt));
  }
}

TEST(EngineLogprobs, TheStopTokenHasOneToo) {
  const TinyModel model;
  Request r = scored_request(20, 6);
  const Scored free = run(model, {r})[0];
  r.stop_ids = {free.tokens[4]};
  const auto n = std::ranges::find(free.tokens, free.tokens[4]) - free.tokens.begin();
  const Scored stopped = run(model, {r})[0];
  EXPECT_EQ(stopped.tokens.size(), size_t(n));
  ASSERT_EQ(stopped.output.size(), size_t(n) + 1);
  EXPECT_EQ(stopped.output.back().token.id, free.tokens[4]);
}

TEST(EngineLogprobs, NothingIsComputedForThoseWhoDoNotAsk) {
  const TinyModel model;
  Request r = scored_request(20, 6);
  r.logprobs = r.prompt_logprobs = -1;
  const Scored got = run(model, {r})[0];
  EXPECT_TRUE(got.output.empty() && got.prompt.empty());
}

}  // namespace
}  // namespace mlxforge
