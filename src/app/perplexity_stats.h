// What `perplexity` measures, a position at a time, in double: how well logits predict the tokens
// that follow, and how far they are from the exact ones (--activations float).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace mlxforge {

// A mean that is updated value by value (Welford).
class Mean {
 public:
  void add(double value);
  int64_t count() const { return count_; }
  double value() const { return value_; }
  double standard_error() const;  // sqrt(sample variance / count); 0 below two values

 private:
  int64_t count_ = 0;
  double value_ = 0;
  double squares_ = 0;  // of the differences from the mean
};

// A position whose most likely token is not the exact one.
struct Flip {
  int64_t position = 0;  // counted from 0
  int32_t exact = 0, chosen = 0;
  double gap = 0;  // ln p(exact) - ln p(chosen) in the exact logits
};

class PerplexityStats {
 public:
  // Logits over the vocabulary, the exact ones or none, and the token that follows. Throws Error
  // when a logit is not finite.
  void add(std::span<const float> logits, std::span<const float> exact, int32_t target);

  const Mean& nll() const { return nll_; }  // -ln p(target): perplexity is e to its value
  const Mean& exact_nll() const { return exact_nll_; }
  const Mean& kl() const { return kl_; }  // sum over tokens of p ln(p / q), p the exact one
  const std::vector<Flip>& flips() const { return flips_; }
  // The share of positions with the exact most likely token; of equal logits the lower id counts.
  double top1() const { return 1 - static_cast<double>(flips_.size()) / nll_.count(); }

 private:
  Mean nll_, exact_nll_, kl_;
  std::vector<Flip> flips_;
};

}  // namespace mlxforge
