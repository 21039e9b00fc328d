#include "sampling/sampler.h"

#include <limits>

namespace mlxforge {
namespace {

SampledToken to_token(const cpu::Sampled& drawn) {
  if (drawn.error == cpu::SampleError::none) return {.id = drawn.id, .error = {}};
  const char* what = drawn.error == cpu::SampleError::nan ? "NaN" : "infinite";
  return {.id = -1,
          .error = {.code = Code::internal,
                    .message = str("the model produced ", what, " logits for this request"),
                    .param = ""}};
}

}  // namespace

Sampler::Sampler(int n_valid, ThreadPool& pool)
    : n_valid_(n_valid), pool_(pool), scratch_(pool.size()) {
  for (auto& scratch : scratch_) {
    scratch.reserve(n_valid);
  }
}

// The pool's job allocates nothing: errors become text afterwards.
void Sampler::sample(std::span<const SampleRow> rows) {
  std::vector<cpu::Sampled> drawn(rows.size());
  pool_.run(static_cast<int>(rows.size()),
            [&](int row, int thread) noexcept { drawn[row] = draw(rows[row], scratch_[thread]); });
  for (size_t i = 0; i < rows.size(); ++i) *rows[i].result = to_token(drawn[i]);
}

cpu::Sampled Sampler::draw(const SampleRow& row, cpu::SampleScratch& scratch) const noexcept {
  for (const int32_t id : row.banned) {
    row.logits[id] = -std::numeric_limits<float>::infinity();
  }
  const auto& p = row.params;
  return cpu::sample_row(
      row.logits.first(n_valid_),
      {.temperature = p.temperature, .top_k = p.top_k, .top_p = p.top_p, .min_p = p.min_p},
      {.seed = p.seed, .choice = p.choice, .output = row.output_index}, scratch);
}

}  // namespace mlxforge
