#include "server/metrics/metrics.h"

#include <gtest/gtest.h>

#include <thread>

#include "server/metrics/prometheus.h"
#include "server/metrics/request_meter.h"

namespace mlxforge {
namespace {

constexpr double kBounds[] = {0.5, 1, 2.5};

// https://prometheus.io/docs/instrumenting/exposition_formats: what its examples show.
TEST(Prometheus, WritesFamiliesSamplesAndEscapes) {
  PrometheusText out({{"model", "a\"b\\c\nd"}});
  out.family("x_total", "counter", "one\\two\nthree \"four\"");
  out.sample(3);
  out.sample(0.25, {{"reason", "stop"}});
  EXPECT_EQ(out.take(),
            "# HELP x_total one\\\\two\\nthree \"four\"\n# TYPE x_total counter\n"
            "x_total{model=\"a\\\"b\\\\c\\nd\"} 3\n"
            "x_total{model=\"a\\\"b\\\\c\\nd\",reason=\"stop\"} 0.25\n");
  PrometheusText bare({});
  bare.family("y", "gauge", "");
  bare.sample(1e300);
  EXPECT_EQ(bare.take(), "# HELP y \n# TYPE y gauge\ny 1e+300\n");
}

TEST(Prometheus, BucketsAreCumulativeAndIncludeTheirBounds) {
  Histogram histogram(kBounds);
  for (const double value : {0.1, 0.5, 0.75, 1.0, 2.0, 9.0}) histogram.observe(value);
  histogram.observe(2.5, 4);
  PrometheusText out({});
  out.family("h", "histogram", "help");
  out.histogram(histogram);
  EXPECT_EQ(out.take(),
            "# HELP h help\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 2\nh_bucket{le=\"1\"} 4\n"
            "h_bucket{le=\"2.5\"} 9\nh_bucket{le=\"+Inf\"} 10\nh_sum 23.35\nh_count 10\n");
}

TEST(Prometheus, NoObservationIsLost) {
  Histogram histogram(kBounds);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 10'000; ++k) histogram.observe(0.75);
      });
  }
  EXPECT_EQ(histogram.count(1), 40'000u);
  EXPECT_EQ(histogram.sum(), 30'000);
}

StepEvent tokens(uint32_t choice, size_t n, FinishReason finish = FinishReason::none) {
  StepEvent event;
  event.choice = choice;
  event.tokens.assign(n, 'x');
  event.finish = finish;
  event.timings = {.cache_n = 2, .queue_ms = 400, .prompt_ms = 20, .predicted_ms = 6000};
  return event;
}

uint64_t total(const Histogram& histogram) {
  uint64_t n = 0;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) n += histogram.count(i);
  return n;
}

uint64_t finished(const Metrics& metrics, Finished reason) {
  return metrics.finished[static_cast<size_t>(reason)];
}

TEST(RequestMeter, CountsTokensAndEndsOfEveryChoice) {
  Metrics metrics;
  const Request request{.prompt = std::vector<int32_t>(10, 1), .n = 3};
  {
    RequestMeter meter(metrics, {request});
    meter.accepted();
    meter.observe(0, tokens(0, 1));
    meter.observe(0, tokens(1, 3));
    meter.observe(0, tokens(0, 2, FinishReason::length));
    meter.observe(0, tokens(1, 0, FinishReason::stop));
    meter.observe(0, tokens(2, 1));
  }  // the third choice was given up
  EXPECT_EQ(metrics.prompt_tokens, 10u);
  EXPECT_EQ(metrics.generation_tokens, 7u);
  EXPECT_EQ(metrics.cached_tokens, 4u);
  EXPECT_EQ(finished(metrics, Finished::length), 1u);
  EXPECT_EQ(finished(metrics, Finished::stop), 1u);
  EXPECT_EQ(finished(metrics, Finished::abort), 1u);
  EXPECT_EQ(total(metrics.time_to_first_token), 3u);
  EXPECT_EQ(total(metrics.inter_token_latency), 4u);
  EXPECT_EQ(total(metrics.request_latency), 2u);
  EXPECT_DOUBLE_EQ(metrics.queue_time.sum(), 0.8);
  EXPECT_DOUBLE_EQ(metrics.prefill_time.sum(), 0.04);
  EXPECT_DOUBLE_EQ(metrics.decode_time.sum(), 12);
}

TEST(RequestMeter, ARefusedRequestIsNotCountedAndAFailedOneIsAnError) {
  Metrics metrics;
  {
    RequestMeter meter(metrics, {Request{.prompt = {1}}});
  }
  EXPECT_EQ(metrics.prompt_tokens, 0u);
  EXPECT_EQ(finished(metrics, Finished::abort), 0u);
  RequestMeter meter(metrics, {Request{.prompt = {1}}});
  meter.accepted();
  meter.observe(0, tokens(0, 0, FinishReason::error));
  EXPECT_EQ(finished(metrics, Finished::error), 1u);
  EXPECT_EQ(total(metrics.request_latency), 0u);
}

}  // namespace
}  // namespace mlxforge
