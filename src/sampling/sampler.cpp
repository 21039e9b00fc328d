#include "sampling/sampler.h"

#include <limits>

namespace mlxforge {

Sampler::Sampler(int n_valid, ThreadPool& pool)
    : n_valid_(n_valid), pool_(pool), scratch_(pool.size()) {
  for (auto& scratch : scratch_) {
    scratch.reserve(n_valid);
  }
}

void Sampler::sample(std::span<const SampleRow> rows) {
  pool_.run(static_cast<int>(rows.size()), [&](int row, int thread) noexcept {
    *rows[row].result = sample_one(rows[row], scratch_[thread]);
  });
}

SampledToken Sampler::sample_one(const SampleRow& row, cpu::SampleScratch& scratch) const noexcept {
  const auto& p = row.params;
  for (const int32_t id : row.banned) {
    row.logits[id] = -std::numeric_limits<float>::infinity();
  }
  const auto [id, error] = cpu::sample_row(
      row.logits.first(n_valid_),
      {.temperature = p.temperature, .top_k = p.top_k, .top_p = p.top_p, .min_p = p.min_p},
      {.seed = p.seed, .choice = p.choice, .output = row.output_index}, scratch);
  if (error == cpu::SampleError::none) return {.id = id, .error = {}};
  return {.id = -1,
          .error = {.code = Code::internal,
                    .message = error == cpu::SampleError::nan
                                   ? "the model produced NaN logits for this request"
                                   : "the model produced infinite logits for this request",
                    .param = ""}};
}

}  // namespace mlxforge
