#include "app/perplexity_stats.h"

#include <algorithm>

#include "base/check.h"

namespace mlxforge {
namespace {

// ln softmax of a row of logits.
struct LogProbs {
  explicit LogProbs(std::span<const float> row) : logits(row) {
    const double max = *std::ranges::max_element(row);
    double sum = 0;
    for (const float logit : row) sum += std::exp(logit - max);
    log_sum = max + std::log(sum);
  }
  double operator[](size_t id) const { return logits[id] - log_sum; }

  std::span<const float> logits;
  double log_sum;
};

double kl_divergence(const LogProbs& p, const LogProbs& q) {
  double sum = 0;
  for (size_t id = 0; id < p.logits.size(); ++id) sum += std::exp(p[id]) * (p[id] - q[id]);
  return sum;
}

int32_t most_likely(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

void Mean::add(double value) {
  const double difference = value - value_;
  value_ += difference / ++count_;
  squares_ += difference * (value - value_);
}

double Mean::standard_error() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ / (count_ - 1) / count_);
}

void PerplexityStats::add(std::span<const float> logits, std::span<const float> exact,
                          int32_t target) {
  const int64_t position = nll_.count();
  for (const auto& row : {logits, exact})
    if (!std::ranges::all_of(row, [](float logit) { return std::isfinite(logit); }))
      fail("app", "expected finite logits, got others at position ", position);
  const LogProbs q(logits);
  nll_.add(-q[target]);
  if (exact.empty()) return;
  const LogProbs p(exact);
  exact_nll_.add(-p[target]);
  kl_.add(kl_divergence(p, q));
  const int32_t want = most_likely(exact), got = most_likely(logits);
  if (want != got)
    flips_.push_back({.position = position, .exact = want, .chosen = got, .gap = p[want] - p[got]});
}

}  // namespace mlxforge
