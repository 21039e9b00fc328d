// How long the CPU's ops have run since the last reset, by kind. Used by the worker thread only.
#pragma once

#include <array>

#include "base/clock.h"

namespace mlxforge {

enum class Op {
  embed,
  norm_linear,
  rope_append,
  paged_attention,
  linear_residual,
  norm_gated_linear,
  head,
  hidden
};
inline constexpr std::array kOpNames = {
    "embed",           "norm_linear",       "rope_append", "paged_attention",
    "linear_residual", "norm_gated_linear", "head",        "hidden"};

using OpTimes = std::array<Clock::duration, kOpNames.size()>;  // by Op

// Adds its own lifetime to one of them.
class OpTimer {
 public:
  OpTimer(OpTimes& times, Op op) : time_(times[static_cast<size_t>(op)]) {}
  ~OpTimer() { time_ += Clock::now() - start_; }
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

 private:
  Clock::duration& time_;
  TimePoint start_ = Clock::now();
};

}  // namespace mlxforge
