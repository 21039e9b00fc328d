// GET /metrics: what a Prometheus server scrapes, under vLLM's names where it has them.
#include "server/metrics/metrics.h"

#include "server/api/handlers.h"
#include "server/metrics/prometheus.h"

namespace mlxforge {
namespace {

double ratio(int part, int whole) { return whole == 0 ? 0 : static_cast<double>(part) / whole; }

void gauges(PrometheusText& out, const ServiceStats& stats) {
  out.family("vllm:num_requests_running", "gauge", "Requests in the batch.");
  out.sample(stats.running);
  out.family("vllm:num_requests_waiting", "gauge", "Requests in the queue.");
  out.sample(stats.waiting);
  out.family("vllm:kv_cache_usage_perc", "gauge", "Share of the KV blocks in use; 1 is all.");
  out.sample(ratio(stats.kv_blocks_used, stats.kv_blocks_total));
}

void counters(PrometheusText& out, const Metrics& metrics) {
  out.family("vllm:prompt_tokens_total", "counter", "Tokens of prompts.");
  out.sample(metrics.prompt_tokens);
  out.family("vllm:generation_tokens_total", "counter", "Tokens generated.");
  out.sample(metrics.generation_tokens);
  out.family("vllm:prefix_cache_queries_total", "counter", "Prompt tokens looked up in the cache.");
  out.sample(metrics.prompt_tokens);
  out.family("vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the cache.");
  out.sample(metrics.cached_tokens);
  out.family("vllm:request_success_total", "counter", "Answers that ended, by why they did.");
  for (size_t i = 0; i < metrics.finished.size(); ++i)
    out.sample(metrics.finished[i], {{"finished_reason", kFinishedNames[i]}});
}

struct Timing {
  const char* name;
  const Histogram Metrics::* histogram;
  const char* help;
};

constexpr Timing kTimings[] = {
    {"vllm:time_to_first_token_seconds", &Metrics::time_to_first_token,
     "From a request's arrival to its first token."},
    {"vllm:inter_token_latency_seconds", &Metrics::inter_token_latency,
     "From one token of an answer to the next."},
    {"vllm:e2e_request_latency_seconds", &Metrics::request_latency,
     "From a request's arrival to the end of its answer."},
    {"vllm:request_queue_time_seconds", &Metrics::queue_time, "Spent waiting for the batch."},
    {"vllm:request_prefill_time_seconds", &Metrics::prefill_time, "Spent on the prompt."},
    {"vllm:request_decode_time_seconds", &Metrics::decode_time, "Spent after the first token."},
};

void responses(PrometheusText& out, const Metrics& metrics) {
  out.family("http_requests_total", "counter", "HTTP requests by the class of their answer.");
  for (size_t i = 2; i < metrics.responses.size(); ++i)
    out.sample(metrics.responses[i], {{"status", std::to_string(i) + "xx"}});
}

}  // namespace

ApiResult metrics(const ApiCall& call) {
  const Metrics& metrics = *call.server.metrics;
  PrometheusText http({});
  responses(http, metrics);
  HttpReply reply{.body = http.take(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  if (!call.server.model) return reply;
  PrometheusText out({{"model_name", call.server.model->id}, {"engine", "0"}});
  gauges(out, call.server.stats);
  counters(out, metrics);
  for (const Timing& timing : kTimings) {
    out.family(timing.name, "histogram", timing.help);
    out.histogram(metrics.*timing.histogram);
  }
  reply.body += out.take();
  return reply;
}

}  // namespace mlxforge
