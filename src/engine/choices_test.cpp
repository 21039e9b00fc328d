// Several choices to a prompt: each what it is alone, the prompt computed once, nothing left
// behind.
#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "engine/testing/tiny_model.h"

namespace mlxforge {
namespace {

struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  FinishReason finish = FinishReason::none;
  bool operator==(const Outcome&) const = default;
};
using Key = std::pair<RequestId, uint32_t>;
using Outcomes = std::map<Key, Outcome>;

Request request(int n_prompt, int n, uint64_t seed = 5) {
  return {.prompt = random_prompt(n_prompt, 40 + n_prompt),
          .sampling = {.temperature = 1.2f, .seed = seed},
          .max_tokens = 20,
          .n = n,
          .logprobs = 0};
}

struct EngineRun {
  std::unique_ptr<Engine> engine;
  Outcomes outcomes;
  std::map<RequestId, int> lasts;  // events that said so
  int prompt_tokens = 0;           // rows run before their sequence had generated anything
  bool preempted = false;

  EngineRun(const TinyModel& model, const EngineTweaks& tweaks)
      : engine(make_engine(model, tweaks)) {
    engine->set_before_run([this](const Batch& batch) {
      for (const auto& row : batch)
        if (row.seq->n_generated() == 0) prompt_tokens += row.n;
    });
  }

  void absorb(const std::vector<StepEvent>& events) {
    for (const auto& event : events) {
      EXPECT_EQ(lasts[event.id], 0) << "an event after the last";
      lasts[event.id] += event.last;
      Outcome& outcome = outcomes[{event.id, event.choice}];
      outcome.tokens.insert(outcome.tokens.end(), event.tokens.begin(), event.tokens.end());
      for (const auto& scored : event.logprobs) outcome.logprobs.push_back(scored.token.logprob);
      outcome.finish = event.finish;
    }
  }
  void drain() {
    for (int i = 0; !engine->idle(); ++i) {
      ASSERT_LT(i, 5000) << "the engine does not come to rest";
      const int running = engine->stats().running;
      absorb(engine->step());
      preempted |= engine->stats().running < running && engine->stats().waiting > 0;
    }
    EXPECT_EQ(engine->stats().kv_blocks_used, 0);
    EXPECT_EQ(engine->stats().waiting, 0);
  }
};

Outcome alone(const TinyModel& model, Request r, uint32_t choice) {
  r.n = 1;
  r.sampling.choice = choice;
  EngineRun run(model, {});
  run.engine->submit(1, r, Clock::now());
  run.drain();
  return run.outcomes.at({1, choice});
}

void expect_as_alone(const TinyModel& model, const Outcomes& got, RequestId id, const Request& r) {
  for (uint32_t choice = 0; choice < uint32_t(r.n); ++choice)
    EXPECT_EQ(got.at({id, choice}), alone(model, r, choice)) << "choice " << choice;
}

// Prompts at and around block borders; only what is behind the last whole block is run again.
TEST(Choices, AreEachAsAloneAndThePromptIsComputedOnce) {
  const TinyModel model;
  for (const int n_prompt : {1, 31, 32, 33, 64, 65, 100}) {
    SCOPED_TRACE(n_prompt);
    const Request r = request(n_prompt, 4);
    EngineRun run(model, {});
    run.engine->submit(7, r, Clock::now());
    run.drain();
    ASSERT_EQ(run.outcomes.size(), 4u);
    EXPECT_EQ(run.lasts.at(7), 1);
    expect_as_alone(model, run.outcomes, 7, r);
    const int again = n_prompt - (n_prompt - 1) / kBlockTokens * kBlockTokens;
    EXPECT_EQ(run.prompt_tokens, n_prompt + 3 * again);
    EXPECT_NE(run.outcomes.at({7, 0}).tokens, run.outcomes.at({7, 1}).tokens);
  }
}

TEST(Choices, ShareThePromptEvenWhenTheFirstEndsAtOnce) {
  const TinyModel model;
  Request r = request(100, 5);
  r.max_tokens = 1;
  EngineRun run(model, {});
  run.engine->submit(1, r, Clock::now());
  run.drain();
  EXPECT_EQ(run.prompt_tokens, 100 + 4 * 4);
  expect_as_alone(model, run.outcomes, 1, r);
}

TEST(Choices, InCompanyWithFewRowsAndLittleMemory) {
  const TinyModel model;
  const std::vector<Request> requests = {request(70, 5), request(10, 1, 9), request(40, 3, 2),
                                         request(33, 2, 8)};
  for (const EngineTweaks& tweaks : {EngineTweaks{}, EngineTweaks{.max_batch = 2},
                                     EngineTweaks{.prefill_chunk = 7, .max_batch = 1},
                                     EngineTweaks{.threads = 1, .kv_blocks = 6}}) {
    EngineRun run(model, tweaks);
    for (size_t i = 0; i < requests.size(); ++i) {
      run.engine->submit(i, requests[i], Clock::now());
      run.absorb(run.engine->step());
    }
    run.drain();
    for (size_t i = 0; i < requests.size(); ++i) {
      expect_as_alone(model, run.outcomes, i, requests[i]);
      EXPECT_EQ(run.lasts.at(i), 1);
    }
    if (tweaks.kv_blocks == 6) EXPECT_TRUE(run.preempted);
  }
}

TEST(Choices, WithSlidingWindows) {
  const TinyModel model(8);
  for (const int n_prompt : {33, 70, 127}) {
    for (const int max_batch : {2, 8}) {
      const Request r = request(n_prompt, 4);
      EngineRun run(model, {.prefill_chunk = 21, .max_batch = max_batch});
      run.engine->submit(1, r, Clock::now());
      run.drain();
      expect_as_alone(model, run.outcomes, 1, r);
      const int again = n_prompt - (n_prompt - 1) / kBlockTokens * kBlockTokens;
      if (max_batch == 8) EXPECT_EQ(run.prompt_tokens, n_prompt + 3 * again);
    }
  }
}

TEST(Choices, CancellingFreesThemAllWhateverTheyAreDoing) {
  const TinyModel model;
  for (int steps = 0; steps < 12; ++steps) {
    EngineRun run(model, {.max_batch = 3});
    run.engine->submit(1, request(50, 5), Clock::now());
    for (int i = 0; i < steps; ++i) run.absorb(run.engine->step());
    const auto events = run.engine->cancel(1);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].finish, FinishReason::cancelled);
    EXPECT_TRUE(events[0].last);
    EXPECT_TRUE(run.engine->idle());
    EXPECT_EQ(run.engine->stats().kv_blocks_used, 0);
    EXPECT_TRUE(run.engine->cancel(1).empty());
  }
}

TEST(Choices, OneCanBeCancelledAndTheOthersGoOn) {
  const TinyModel model;
  const Request r = request(40, 3);
  EngineRun run(model, {});
  run.engine->submit(1, r, Clock::now());
  while (run.outcomes[{1, 2}].tokens.size() < 3) run.absorb(run.engine->step());
  const auto events = run.engine->cancel_choice(1, 0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].choice, 0u);
  EXPECT_FALSE(events[0].last);
  run.absorb(events);
  EXPECT_TRUE(run.engine->cancel_choice(1, 0).empty());
  run.drain();
  EXPECT_EQ(run.lasts.at(1), 1);
  for (const uint32_t choice : {1u, 2u})
    EXPECT_EQ(run.outcomes.at({1, choice}), alone(model, r, choice));
}

// Case 42 for one of several.
TEST(Choices, AFaultInOneIsItsOwn) {
  const TinyModel model;
  const Request r = request(40, 3);
  EngineRun run(model, {});
  run.engine->set_before_run([](const Batch& batch) {
    for (const auto& row : batch)
      if (row.seq->choice() == 1 && row.seq->n_generated() >= 3) throw std::bad_alloc();
  });
  run.engine->submit(1, r, Clock::now());
  run.drain();
  EXPECT_EQ(run.outcomes.at({1, 1}).finish, FinishReason::error);
  for (const uint32_t choice : {0u, 2u})
    EXPECT_EQ(run.outcomes.at({1, choice}), alone(model, r, choice));
}

}  // namespace
}  // namespace mlxforge
