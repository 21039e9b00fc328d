#include "sampling/sampler.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "sampling/token_mask.h"

namespace mlxforge {
namespace {

SampledToken failed(const char* why) {
  return {.error = {.code = Code::internal, .message = why, .param = ""}};
}

bool excludes_ids(const SampleRow& row) { return !row.banned.empty() || !row.allowed.empty(); }

Status nothing_left(const SampleRow& row) {
  if (row.banned.empty())
    return Status::invalid("the model has none of the tokens that the grammar allows here");
  return Status::invalid(
      row.allowed.empty()
          ? "'min_tokens' forbids the stop tokens, which are all there are"
          : "'min_tokens' or 'ignore_eos' forbids the stop tokens, and the grammar allows no other",
      "min_tokens");
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

void Sampler::score(std::span<const ScoreRow> rows) {
  std::atomic<bool> failed = false;
  pool_.run(static_cast<int>(rows.size()), [&](int i, int) noexcept {
    const ScoreRow& row = rows[i];
    try {
      *row.result = token_logprobs(row.logits, n_valid_, row.id, row.n_logprobs);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  });
  if (failed) throw std::bad_alloc();
}

SampledToken Sampler::sample_one(const SampleRow& row, Scratch& scratch) const {
  if (row.n_logprobs < 0) return choose(row, scratch);
  scratch.raw.assign(row.logits.begin(), row.logits.end());
  SampledToken token = choose(row, scratch);
  if (token.error.ok())
    token.logprobs = token_logprobs(scratch.raw, n_valid_, token.id, row.n_logprobs);
  return token;
}

SampledToken Sampler::choose(const SampleRow& row, Scratch& scratch) const {
  const auto& p = *row.params;
  const std::span<float> logits = row.logits.first(n_valid_);
  process_logits(logits, p, row.history, scratch.processors);
  if (!row.allowed.empty()) mask_logits(logits, row.allowed);
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
  if (error == cpu::SampleError::none) return {.id = id};
  if (std::ranges::max(logits) == -std::numeric_limits<float>::infinity() && excludes_ids(row))
    return {.error = nothing_left(row)};
  return failed(error == cpu::SampleError::nan
                    ? "the model produced NaN logits for this request"
                    : "the model produced infinite logits for this request");
}

}  // namespace mlxforge
