// sample_row: one token id from one row of logits. Candidates stand in one order, (logit
// descending, id ascending), and every filter keeps a contiguous part of it. The filters apply in
// the order of Hugging Face's generate, each to what the one before it kept: temperature, top_k,
// top_p, min_p, typical_p; then XTC, as everywhere last. One random number, keyed by (seed, choice,
// output index), picks from that part by cumulative weight, another one decides about XTC. Weights
// exp((logit - max) / temperature) are integers in units of 2^-30 and their sums exact, so the
// result depends on the row, the parameters and the key only. Any thread may call, each with a
// scratch of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/random.h"

namespace mlxforge::cpu {

struct SampleParams {
  float temperature = 0;  // at most kGreedyTemperature: the first candidate, whatever the rest says
  int top_k = 0;          // keep this many; below 1 or above the row: all
  float top_p = 1;        // keep the shortest prefix with this share of the weight, at least one
                          // candidate; from 1: all
  float min_p = 0;        // keep those with this share of the first one's weight; 0: all
  // Keep those whose surprise -log p is nearest to its mean, the entropy, until they hold this
  // share of the weight; from 1: all (Meister et al., "Locally typical sampling", 2022).
  float typical_p = 1;
  // With this probability, drop all but the last of the candidates that hold this share of the
  // weight: "exclude top choices" (p-e-w, 2024).
  float xtc_probability = 0;
  float xtc_threshold = 0;
};
inline constexpr float kGreedyTemperature = 1e-4f;

// nan: a logit is NaN. infinite: the largest logit is +inf, or -inf (every id is masked).
enum class SampleError : uint8_t { none, nan, infinite };

struct Sampled {
  int32_t id = -1;  // -1 with an error
  SampleError error = SampleError::none;
};

struct Candidate {
  float logit;
  int32_t id;
  uint32_t weight;
};
// Candidates under consideration; grows to the longest row once. Owned by the calling thread.
using SampleScratch = std::vector<Candidate>;

// Only ids below logits.size() can be sampled: the caller leaves out the padding of a vocabulary.
// An empty row gives `infinite`. Throws std::bad_alloc when the scratch has to grow and cannot.
Sampled sample_row(std::span<const float> logits, const SampleParams& params, const RandomKey& key,
                   SampleScratch& scratch);

// log(sum of exp(logit)), within a few 1e-7 of its size; NaN when a logit is, -infinity for an
// empty or fully masked row. Any thread may call.
float log_sum_exp(std::span<const float> logits);

}  // namespace mlxforge::cpu
