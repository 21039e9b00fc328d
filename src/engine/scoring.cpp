#include "engine/scoring.h"

#include <algorithm>

#include "base/check.h"

namespace mlxforge {

Scoring::Scoring(Runner& runner, BlockManager& blocks, std::vector<int32_t> ids, int chunk)
    : runner_(runner), blocks_(blocks), chunk_(chunk) {
  seq_.tokens = std::move(ids);
  if (!blocks_.grow(seq_.blocks, seq_.n_tokens())) {
    fail("engine", "expected at most ", blocks_.capacity(), " ids, got ", seq_.n_tokens(),
         "; raise --kv-budget");
  }
}

Scoring::~Scoring() { blocks_.release(seq_.blocks); }

std::span<const float> Scoring::next() {
  const int n = std::min(chunk_, seq_.n_pending());
  check(n > 0, "scoring is done");
  rows_ = runner_.score({&seq_, n});
  seq_.n_computed += n;
  return {rows_->data<float>(), rows_->size()};
}

}  // namespace mlxforge
