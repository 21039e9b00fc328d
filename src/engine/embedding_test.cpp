// Embeddings in the flat batch: the same bits whatever the company, the chunks and the memory.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/engine.h"
#include "engine/testing/tiny_model.h"

namespace mlxforge {
namespace {

Request embedding_request(int n_prompt, Pooling pooling) {
  return {.prompt = random_prompt(n_prompt, 70 + n_prompt), .pooling = pooling};
}

std::map<RequestId, std::vector<float>> run(const TinyModel& model,
                                            const std::vector<Request>& requests,
                                            const EngineTweaks& tweaks = {}) {
  const auto engine = make_engine(model, tweaks);
  std::map<RequestId, std::vector<float>> out;
  for (size_t i = 0; i < requests.size(); ++i) engine->submit(i, requests[i], Clock::now());
  while (!engine->idle())
    for (StepEvent& event : engine->step())
      if (event.last) out[event.id] = std::move(event.embedding);
  EXPECT_EQ(engine->stats().kv_blocks_used, 0);
  return out;
}

std::vector<float> embed(const TinyModel& model, const Request& request) {
  return run(model, {request}).at(0);
}

// A prompt's state at i is the last state of its first i + 1 tokens.
TEST(EngineEmbedding, PoolsTheStatesOfThePrompt) {
  const TinyModel model;
  const Request whole = embedding_request(40, Pooling::mean);
  std::vector<double> sum;
  for (int n = 1; n <= 40; ++n) {
    Request part = whole;
    part.prompt.resize(n);
    part.pooling = Pooling::last;
    const auto state = embed(model, part);
    ASSERT_EQ(state.size(), 64u);
    sum.resize(state.size());
    for (size_t d = 0; d < sum.size(); ++d) sum[d] += state[d];
    part.pooling = Pooling::first;
    if (n == 1) EXPECT_EQ(embed(model, part), state);
  }
  const auto mean = embed(model, whole);
  for (size_t d = 0; d < sum.size(); ++d) EXPECT_EQ(mean[d], static_cast<float>(sum[d] / 40));
}

TEST(EngineEmbedding, IsTheSameBitsInAnyCompany) {
  for (const int window : {0, 8}) {
    const TinyModel model(window);
    std::vector<Request> requests;
    for (const int n : {1, 31, 64, 100, 5})
      for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::last})
        requests.push_back(embedding_request(n, pooling));
    std::vector<std::vector<float>> alone;
    for (const Request& request : requests) alone.push_back(embed(model, request));
    // Others that generate: their growth preempts the prompts where memory is short.
    for (int i = 0; i < 4; ++i)
      requests.insert(requests.begin(), {.prompt = random_prompt(20, i), .max_tokens = 60});
    for (const EngineTweaks& tweaks :
         {EngineTweaks{}, EngineTweaks{.threads = 1, .prefill_chunk = 5},
          EngineTweaks{.prefill_chunk = 4, .kv_blocks = 9}, EngineTweaks{.max_batch = 2}}) {
      auto together = run(model, requests, tweaks);
      for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(together.at(i + 4), alone[i]) << i;
    }
  }
}

TEST(EngineEmbedding, ReferenceKernelsAgree) {
  const TinyModel model;
  const Request request = embedding_request(50, Pooling::mean);
  const auto ours = embed(model, request);
  const auto reference = run(model, {request}, {.kernels = KernelChoice::reference}).at(0);
  double difference = 0, length = 0;
  for (size_t d = 0; d < ours.size(); ++d) {
    difference += std::pow(double{ours[d]} - reference[d], 2);
    length += std::pow(ours[d], 2);
  }
  EXPECT_LT(std::sqrt(difference / length), 1e-5);
}

}  // namespace
}  // namespace mlxforge
