#include "server/http/rate_limits.h"

#include <algorithm>

namespace mlxforge {

void RateLimits::Bucket::refill(double per_minute, double seconds) {
  level = std::min(per_minute, level + per_minute * seconds / 60);
}

double RateLimits::Bucket::wait(double per_minute, double wanted) const {
  if (per_minute == 0 || level >= wanted) return 0;
  return (wanted - level) * 60 / per_minute;
}

// REQUIRES mutex_.
RateLimits::Buckets& RateLimits::buckets(const std::string& key, TimePoint now) {
  const auto [found, is_new] = keys_.try_emplace(key);
  Buckets& of_key = found->second;
  const double seconds = is_new ? 60 : std::max(0.0, ms_between(of_key.filled, now) / 1000);
  of_key.requests.refill(rules_.requests_per_minute, seconds);
  of_key.tokens.refill(rules_.tokens_per_minute, seconds);
  of_key.filled = now;
  return of_key;
}

double RateLimits::begin(const std::string& key, TimePoint now) {
  std::lock_guard lock(mutex_);
  Buckets& of_key = buckets(key, now);
  const double wait = std::max(of_key.requests.wait(rules_.requests_per_minute, 1),
                               of_key.tokens.wait(rules_.tokens_per_minute, 1));
  if (wait == 0) of_key.requests.level -= 1;
  return wait;
}

void RateLimits::spend(const std::string& key, int tokens, TimePoint now) {
  std::lock_guard lock(mutex_);
  buckets(key, now).tokens.level -= tokens;
}

}  // namespace mlxforge
