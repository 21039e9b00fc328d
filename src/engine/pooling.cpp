#include "engine/pooling.h"

#include "base/check.h"

namespace mlxforge {

void pool(Sequence& seq, std::span<const float> states, int n) {
  if (n == 0) return;
  const size_t d = states.size() / n;
  seq.pooled_sum.resize(d);
  for (size_t i = 0; i < states.size(); ++i) seq.pooled_sum[i % d] += states[i];
  seq.n_pooled += n;
}

std::vector<float> pooled(const Sequence& seq) {
  check(seq.n_pooled > 0, "nothing was pooled");
  std::vector<float> mean;
  for (const double sum : seq.pooled_sum) mean.push_back(static_cast<float>(sum / seq.n_pooled));
  return mean;
}

}  // namespace mlxforge
