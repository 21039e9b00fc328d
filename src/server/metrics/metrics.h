// What the server has done since it started. Any thread may count and read; nothing locks, and the
// engine's worker is not involved.
#pragma once

#include <array>
#include <atomic>

#include "server/metrics/histogram.h"

namespace mlxforge {

using Counter = std::atomic<uint64_t>;

// Why an answer ended; abort: its client went away.
enum class Finished { stop, length, abort, error };
inline constexpr const char* kFinishedNames[] = {"stop", "length", "abort", "error"};

// vLLM's, so that dashboards made for it show the same.
inline constexpr double kFirstTokenBounds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                               0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                               20,    40,    80,   160,  640,  2560};
inline constexpr double kTokenBounds[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                          0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
inline constexpr double kRequestBounds[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                            30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};

struct Metrics {
  Counter prompt_tokens = 0;
  Counter cached_tokens = 0;  // of the prompts: found in the prefix cache
  Counter generation_tokens = 0;
  std::array<Counter, std::size(kFinishedNames)> finished{};  // by Finished

  Histogram time_to_first_token{kFirstTokenBounds};  // seconds, like all that follow
  Histogram inter_token_latency{kTokenBounds};
  Histogram request_latency{kRequestBounds};
  Histogram queue_time{kRequestBounds};
  Histogram prefill_time{kRequestBounds};
  Histogram decode_time{kRequestBounds};

  std::array<Counter, 6> responses{};  // by the hundreds of their status
};

}  // namespace mlxforge
