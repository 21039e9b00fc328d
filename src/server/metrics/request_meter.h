// Counts one request's way through the engine, choice by choice, as its connection sees the events.
// One thread at a time.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/service.h"
#include "server/metrics/metrics.h"

namespace mlxforge {

class RequestMeter {
 public:
  // Before the engine takes the requests.
  RequestMeter(Metrics& metrics, const std::vector<Request>& requests);
  // What has not finished by then was given up.
  ~RequestMeter();
  RequestMeter(const RequestMeter&) = delete;
  RequestMeter& operator=(const RequestMeter&) = delete;

  void accepted();  // by the engine; without this, nothing is counted
  void observe(size_t request, const StepEvent& event);

 private:
  void observe_tokens(TimePoint& last, const StepEvent& event);
  void observe_end(const StepEvent& event);

  Metrics& metrics_;
  const TimePoint start_ = Clock::now();
  uint64_t prompt_tokens_ = 0;
  uint64_t choices_ = 0;
  uint64_t open_ = 0;                                      // choices in the engine
  std::map<std::pair<size_t, uint32_t>, TimePoint> last_;  // tokens of (request, choice)
};

}  // namespace mlxforge
