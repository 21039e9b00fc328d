#include "server/metrics/request_meter.h"

namespace mlxforge {
namespace {

double seconds(double ms) { return ms / 1000; }

// The engine was told to cancel a choice only because a stop string had ended it.
Finished reason_of(FinishReason finish) {
  if (finish == FinishReason::length) return Finished::length;
  return finish == FinishReason::error ? Finished::error : Finished::stop;
}

void add(Metrics& metrics, Finished reason, uint64_t n) {
  metrics.finished[static_cast<size_t>(reason)] += n;
}

}  // namespace

RequestMeter::RequestMeter(Metrics& metrics, const std::vector<Request>& requests)
    : metrics_(metrics) {
  for (const Request& request : requests) {
    prompt_tokens_ += request.prompt.size();
    choices_ += static_cast<uint64_t>(request.n);
  }
}

RequestMeter::~RequestMeter() { add(metrics_, Finished::abort, open_); }

void RequestMeter::accepted() {
  open_ = choices_;
  metrics_.prompt_tokens += prompt_tokens_;
}

void RequestMeter::observe(size_t request, const StepEvent& event) {
  if (!event.tokens.empty()) observe_tokens(last_[{request, event.choice}], event);
  if (event.finish != FinishReason::none && open_ > 0) observe_end(event);
}

// A slow reader finds several steps in one event; their tokens share its time.
void RequestMeter::observe_tokens(TimePoint& last, const StepEvent& event) {
  const TimePoint now = Clock::now();
  uint64_t n = event.tokens.size();
  metrics_.generation_tokens += n;
  if (last == TimePoint{}) {
    metrics_.time_to_first_token.observe(seconds(ms_between(start_, now)));
    last = now;
    --n;
  }
  if (n > 0)
    metrics_.inter_token_latency.observe(seconds(ms_between(last, now)) / static_cast<double>(n),
                                         n);
  last = now;
}

void RequestMeter::observe_end(const StepEvent& event) {
  --open_;
  add(metrics_, reason_of(event.finish), 1);
  if (event.finish == FinishReason::error) return;
  metrics_.cached_tokens += static_cast<uint64_t>(event.timings.cache_n);
  metrics_.request_latency.observe(seconds(ms_between(start_, Clock::now())));
  metrics_.queue_time.observe(seconds(event.timings.queue_ms));
  metrics_.prefill_time.observe(seconds(event.timings.prompt_ms));
  metrics_.decode_time.observe(seconds(event.timings.predicted_ms));
}

}  // namespace mlxforge
