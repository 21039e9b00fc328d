// Monotonic time, for queue times, timings and uptime.
#pragma once

#include <chrono>

namespace mlxforge {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

inline double ms_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace mlxforge
