#include "sampling/sampler.h"

#include <algorithm>
#include <limits>

namespace mlxforge {
namespace {

SampledToken failed(const char* why) {
  return {.id = -1, .error = {.code = Code::internal, .message = why, .param = ""}};
}

}  // namespace

Sampler::Sampler(int n_valid, ThreadPool& pool)
    : n_valid_(n_valid), pool_(pool), scratch_(pool.size()) {
  for (auto& scratch : scratch_) scratch.candidates.reserve(n_valid);
}

void Sampler::sample(std::span<const SampleRow> rows) {
  pool_.run(static_cast<int>(rows.size()), [&](int row, int thread) noexcept {
    try {
      *rows[row].result = sample_one(rows[row], scratch_[thread]);
    } catch (const std::bad_alloc&) {
      *rows[row].result = failed("out of memory");
    }
  });
}

SampledToken Sampler::sample_one(const SampleRow& row, Scratch& scratch) const {
  const auto& p = *row.params;
  const std::span<float> logits = row.logits.first(n_valid_);
  process_logits(logits, p, row.history, scratch.processors);
  for (const int32_t id : row.banned) row.logits[id] = -std::numeric_limits<float>::infinity();
  const auto output = static_cast<uint32_t>(row.history.tokens.size() - row.history.n_prompt);
  const auto [id, error] =
      cpu::sample_row(logits,
                      {.temperature = p.temperature,
                       .top_k = p.top_k,
                       .top_p = p.top_p,
                       .min_p = p.min_p,
                       .typical_p = p.typical_p,
                       .xtc_probability = p.xtc_probability,
                       .xtc_threshold = p.xtc_threshold},
                      {.seed = p.seed, .choice = p.choice, .output = output}, scratch.candidates);
  if (error == cpu::SampleError::none) return {.id = id, .error = {}};
  if (!row.banned.empty() && std::ranges::max(logits) == -std::numeric_limits<float>::infinity())
    return {.id = -1,
            .error = Status::invalid(
                "'min_tokens' forbids the stop tokens, which are all there are", "min_tokens")};
  return failed(error == cpu::SampleError::nan
                    ? "the model produced NaN logits for this request"
                    : "the model produced infinite logits for this request");
}

}  // namespace mlxforge
