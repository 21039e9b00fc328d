#include "sampling/logprobs.h"

#include <algorithm>

#include "kernels/cpu/sample.h"

namespace mlxforge {
namespace {

// The n greatest logits, in order (logit descending, id ascending).
std::vector<TokenLogprob> greatest(std::span<const float> logits, size_t n) {
  std::vector<TokenLogprob> best;
  best.reserve(n + 1);
  for (size_t id = 0; id < logits.size() && n > 0; ++id) {
    if (best.size() == n && !(logits[id] > best.back().logprob)) continue;
    const auto place =
        std::ranges::upper_bound(best, logits[id], std::greater<>{}, &TokenLogprob::logprob);
    best.insert(place, {static_cast<int32_t>(id), logits[id]});
    if (best.size() > n) best.pop_back();
  }
  return best;
}

}  // namespace

TokenLogprobs token_logprobs(std::span<const float> logits, int n_valid, int32_t id, int n_top) {
  const auto valid = logits.first(n_valid);
  const float log_sum = cpu::log_sum_exp(logits), logit = logits[id];
  TokenLogprobs out{.token = {id, logit - log_sum}};
  out.rank = 1 + static_cast<int>(std::ranges::count_if(valid, [&](float x) { return x > logit; }));
  out.top = greatest(valid, n_top);
  for (auto& entry : out.top) entry.logprob -= log_sum;
  return out;
}

}  // namespace mlxforge
