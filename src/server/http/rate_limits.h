// How much each API key may ask for in a minute; without keys, everybody together. Token buckets: a
// key starts with a minute's worth, which refills evenly. A request may begin while both of its
// key's buckets have something in them, and pays for its tokens when their number is known; a long
// answer leaves a debt. Any thread may call.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace mlxforge {

struct RateRules {  // 0: no limit
  double requests_per_minute = 0;
  double tokens_per_minute = 0;
};

class RateLimits {
 public:
  explicit RateLimits(RateRules rules) : rules_(rules) {}

  // Takes a request from the key's bucket: 0. Or takes nothing: the seconds until it may.
  double begin(const std::string& key, TimePoint now);
  void spend(const std::string& key, int tokens, TimePoint now);

 private:
  struct Bucket {
    double level = 0;
    void refill(double per_minute, double seconds);
    double wait(double per_minute, double wanted) const;
  };
  struct Buckets {
    Bucket requests, tokens;
    TimePoint filled;
  };
  Buckets& buckets(const std::string& key, TimePoint now);

  const RateRules rules_;
  std::mutex mutex_;
  std::map<std::string, Buckets> keys_;  // as many as there are API keys
};

}  // namespace mlxforge
