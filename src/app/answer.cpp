#include "app/answer.h"

#include <random>

namespace mlxforge {
namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

SamplingParams sampling_params(const SamplingOptions& options) {
  SamplingParams params{.temperature = options.temperature,
                        .top_k = options.top_k,
                        .top_p = options.top_p,
                        .min_p = options.min_p,
                        .seed = options.seed.value_or(0),
                        .choice = 0};
  if (options.temperature > 0 && !options.seed) {
    params.seed = random_seed();
    log_info("seed ", params.seed);
  }
  return params;
}

StepEvent run_request(EngineService& engine, StepQueue& queue, Request request,
                      const std::function<bool(const StepEvent&)>& take) {
  const Result<RequestId> id = engine.submit(std::move(request));
  if (!id.ok()) fail("app", id.status().message);
  while (true) {
    for (StepEvent& event : queue.take()) {
      if (event.id != id.value()) continue;
      if (event.finish == FinishReason::error) fail("app", event.error.message);
      if (!take(event)) engine.cancel(event.id);
      if (event.finish != FinishReason::none) return event;
    }
  }
}

std::string text_of(const StepEvent& event, Detokenizer& detokenizer) {
  std::string text;
  for (const int32_t id : event.tokens) text += detokenizer.push(id);
  if (event.finish != FinishReason::none) text += detokenizer.flush();
  return text;
}

}  // namespace mlxforge
