// Counts of values by upper bounds, as Prometheus has them. Any thread may observe and read; there
// is no lock, so a reader may see a value in the count and not yet in the sum.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace mlxforge {

class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void observe(double value, uint64_t times = 1) {
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
    sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
  }

  std::span<const double> bounds() const { return bounds_; }  // ascending, each included
  // Of bucket i alone; the one after the last bound has what is larger than all.
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

}  // namespace mlxforge
