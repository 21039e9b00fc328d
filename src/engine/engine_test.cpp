#include "engine/engine.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/testing/tiny_model.h"
#include "kernels/eval.h"

namespace mlxforge {
namespace {

struct Outcome {
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::none;
  Status error;
  Timings timings;
};
using Outcomes = std::map<RequestId, Outcome>;

void absorb(Outcomes& outcomes, const std::vector<StepEvent>& events) {
  for (const auto& event : events) {
    Outcome& outcome = outcomes[event.id];
    outcome.tokens.insert(outcome.tokens.end(), event.tokens.begin(), event.tokens.end());
    outcome.finish = event.finish;
    outcome.error = event.error;
    outcome.timings = event.timings;
  }
}

void drain(Engine& engine, Outcomes& outcomes) {
  for (int i = 0; !engine.idle(); ++i) {
    ASSERT_LT(i, 5000) << "the engine does not come to rest";
    absorb(outcomes, engine.step());
  }
}

// Request i: a prompt of its own length, greedy when even, seeded sampling when odd.
Request request(int i) {
  Request r;
  r.prompt = random_prompt(3 + 11 * i, 100 + i);
  r.max_tokens = 12 + 3 * i;
  if (i % 2) r.sampling = {.temperature = 1.1f, .top_k = 40, .top_p = 0.95f, .seed = uint64_t(i)};
  return r;
}

std::vector<int32_t> alone(const TinyModel& model, const Request& r,
                           const EngineTweaks& tweaks = {}) {
  auto engine = make_engine(model, tweaks);
  engine->submit(1, r, Clock::now());
  Outcomes outcomes;
  drain(*engine, outcomes);
  return outcomes[1].tokens;
}

TEST(Engine, ARequestsTokensDoNotDependOnCompanyChunkOrThreads) {
  const TinyModel model;
  std::vector<std::vector<int32_t>> expected;
  for (int i = 0; i < 8; ++i) expected.push_back(alone(model, request(i)));

  for (const auto& [chunk, threads] : {std::pair{16, 2}, {1, 1}, {7, 2}, {64, 1}}) {
    auto engine = make_engine(model, {.threads = threads, .prefill_chunk = chunk});
    Outcomes outcomes;
    for (int i = 0; i < 8; ++i) {  // joining while others decode, leaving at different times
      engine->submit(i, request(i), Clock::now());
      absorb(outcomes, engine->step());
      absorb(outcomes, engine->step());
    }
    drain(*engine, outcomes);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(outcomes[i].tokens, expected[i]) << "request " << i << " chunk " << chunk;
      EXPECT_EQ(outcomes[i].finish, FinishReason::length);
      EXPECT_EQ(outcomes[i].tokens.size(), size_t(request(i).max_tokens));
    }
    EXPECT_EQ(engine->stats().kv_blocks_used, 0);
  }
}

TEST(Engine, PreemptedRequestsResumeWithTheSameTokens) {
  const TinyModel model;
  std::vector<Request> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(request(i));
    requests.back().max_tokens = 90;
  }
  // 4 sequences of up to 126 tokens want 14 blocks; 6 make them take turns.
  auto engine = make_engine(model, {.kv_blocks = 6});
  Outcomes outcomes;
  for (int i = 0; i < 4; ++i) engine->submit(i, requests[i], Clock::now());
  bool preempted = false;
  for (int n_running = 0; !engine->idle();) {
    absorb(outcomes, engine->step());
    preempted |= engine->stats().running < n_running && engine->stats().waiting > 0;
    n_running = engine->stats().running;
  }
  EXPECT_TRUE(preempted);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(outcomes[i].tokens, alone(model, requests[i])) << i;
  EXPECT_EQ(engine->stats().kv_blocks_used, 0);
}

TEST(Engine, SlidingWindowLayersGiveTheSameTokensHoweverChunked) {
  const TinyModel model(8);
  Request r = request(4);
  const auto expected = alone(model, r, {.prefill_chunk = 64});
  EXPECT_EQ(alone(model, r, {.prefill_chunk = 5}), expected);
  EXPECT_EQ(alone(model, r, {.prefill_chunk = 1}), expected);
  EXPECT_EQ(alone(model, r, {.kernels = KernelChoice::reference, .prefill_chunk = 5}), expected);
}

TEST(Engine, ReferencePathGivesTheSameGreedyTokensAndEvaluatesOnceAStep) {
  const TinyModel model;
  Request r = request(2);
  const auto expected = alone(model, r);
  auto engine = make_engine(model, {.kernels = KernelChoice::reference});
  engine->submit(1, r, Clock::now());
  engine->submit(2, request(0), Clock::now());
  Outcomes outcomes;
  size_t steps = 0;
  const size_t before = n_evaluations();
  for (; !engine->idle(); ++steps) absorb(outcomes, engine->step());
  EXPECT_EQ(n_evaluations() - before, steps);
  EXPECT_EQ(outcomes[1].tokens, expected);
}

TEST(Engine, CpuPathEvaluatesNothing) {
  const TinyModel model;
  const size_t before = n_evaluations();
  EXPECT_FALSE(alone(model, request(1)).empty());
  EXPECT_EQ(n_evaluations(), before);
}

TEST(Engine, CancelFreesAtOnceWhateverTheRequestIsDoing) {
  const TinyModel model;
  auto engine = make_engine(model, {.max_batch = 2});
  Outcomes outcomes;
  for (int i = 0; i < 3; ++i) engine->submit(i, request(5), Clock::now());
  absorb(outcomes, engine->step());  // 0 is in its prompt, 2 waits
  for (const RequestId id : {0, 2, 1}) {
    const auto events = engine->cancel(id);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].finish, FinishReason::cancelled);
  }
  EXPECT_TRUE(engine->idle());
  EXPECT_EQ(engine->stats().kv_blocks_used, 0);
  EXPECT_TRUE(engine->cancel(0).empty());
}

TEST(Engine, ContextIsFilledToTheLastTokenAndNoFurther) {
  const TinyModel model;
  auto engine = make_engine(model, {.max_ctx = 40});
  Request r;
  r.prompt = random_prompt(39, 1);
  r.max_tokens = 100;
  engine->submit(1, r, Clock::now());
  r.prompt.resize(30);
  engine->submit(2, r, Clock::now());
  Outcomes outcomes;
  drain(*engine, outcomes);
  EXPECT_EQ(outcomes[1].tokens.size(), 1u);
  EXPECT_EQ(outcomes[1].finish, FinishReason::length);
  EXPECT_EQ(outcomes[2].tokens.size(), 10u);
}

TEST(Engine, StopIdsEndARequestUnlessTheyAreIgnoredOrTooEarly) {
  const TinyModel model;
  Request r = request(2);
  const auto tokens = alone(model, r);
  const int32_t stop = tokens[4];
  const auto first = std::ranges::find(tokens, stop) - tokens.begin();
  const EngineTweaks stopping{.stop_ids = {stop}};
  const std::vector<int32_t> until_stop(tokens.begin(), tokens.begin() + first);

  auto engine = make_engine(model, stopping);
  engine->submit(1, r, Clock::now());
  Outcomes outcomes;
  drain(*engine, outcomes);
  EXPECT_EQ(outcomes[1].tokens, until_stop);
  EXPECT_EQ(outcomes[1].finish, FinishReason::stop);
  EXPECT_EQ(outcomes[1].timings.predicted_n, int(first) + 1);

  Request own = r;
  own.stop_ids = {stop};
  EXPECT_EQ(alone(model, own), until_stop);

  Request ignoring = r;
  ignoring.ignore_eos = true;
  EXPECT_EQ(alone(model, ignoring, stopping), tokens);

  Request patient = r;
  patient.min_tokens = 10;
  const auto forced = alone(model, patient, stopping);
  EXPECT_GE(forced.size(), 10u);
  EXPECT_EQ(std::count(forced.begin(), forced.end(), stop), 0);
}

// A checkpoint's stop set may name ids that its embedding does not have.
TEST(Engine, StopIdsOutsideTheVocabularyAreHarmless) {
  const TinyModel model;
  Request r = request(2);
  r.min_tokens = 10;  // stop ids are then masked among the logits
  EXPECT_EQ(alone(model, r, {.stop_ids = {kVocab, -1, 1 << 30}}), alone(model, r));
}

TEST(LoadEngine, Int8ActivationsNeedTheCpuKernels) {
  const TinyModel model;
  const EngineOptions options{
      .device = Device::cpu, .activations = Activations::int8, .kernels = KernelChoice::reference};
  EXPECT_THROW(load_engine(model.files(), options, {.n_valid = kVocab}, [](double) {}), Error);
}

// Case 42: a throw fails the request it belongs to; the others neither stop nor change.
TEST(Engine, AFaultFailsOnlyItsOwnRequest) {
  const TinyModel model;
  auto engine = make_engine(model);
  engine->set_before_run([](const Batch& batch) {
    for (const auto& row : batch) {
      if (row.seq->id == 2 && row.seq->n_generated() >= 3) throw std::bad_alloc();
    }
  });
  Outcomes outcomes;
  for (int i = 0; i < 5; ++i) engine->submit(i, request(i), Clock::now());
  drain(*engine, outcomes);
  EXPECT_EQ(outcomes[2].finish, FinishReason::error);
  EXPECT_EQ(outcomes[2].error.code, Code::internal);
  for (const int i : {0, 1, 3, 4}) EXPECT_EQ(outcomes[i].tokens, alone(model, request(i))) << i;
  EXPECT_EQ(engine->stats().kv_blocks_used, 0);
}

// There the step's requests fail together and the cache is made anew; whoever was not in the step
// starts over unharmed.
TEST(Engine, AFaultOnTheReferencePathLeavesTheEngineUsable) {
  const TinyModel model;
  auto engine = make_engine(model, {.kernels = KernelChoice::reference, .max_batch = 1});
  int runs = 0;
  engine->set_before_run([&](const Batch&) {
    if (++runs == 4) throw std::runtime_error("injected");
  });
  Outcomes outcomes;
  engine->submit(1, request(0), Clock::now());
  engine->submit(2, request(2), Clock::now());
  drain(*engine, outcomes);
  EXPECT_EQ(outcomes[1].finish, FinishReason::error);
  EXPECT_EQ(outcomes[2].tokens, alone(model, request(2)));
}

TEST(Engine, ScoresAreTheSameBytesHoweverChunked) {
  const TinyModel model;
  const auto ids = random_prompt(70, 3);
  const auto score = [&](int chunk, int threads) {
    std::vector<float> rows;
    const auto engine = make_engine(model, {.threads = threads});
    const auto scoring = engine->score(ids, chunk);
    while (!scoring->done()) {
      const auto next = scoring->next();
      rows.insert(rows.end(), next.begin(), next.end());
    }
    return rows;
  };
  const auto whole = score(70, 2);
  ASSERT_EQ(whole.size(), ids.size() * kVocab);
  for (const int chunk : {1, 7, 64}) EXPECT_EQ(score(chunk, 1), whole) << chunk;
}

}  // namespace
}  // namespace mlxforge
