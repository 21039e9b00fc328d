// sample_row: one token id from one row of logits. Candidates stand in one order, (logit
// descending, id ascending), and every filter keeps a prefix of it. The filters apply as in Hugging
// Face's generate: temperature, then top_k, then top_p (of what top_k kept), then min_p. One
// uniform number, keyed by (seed, choice, output index), picks from the prefix by cumulative
// probability. The result depends on the row, the parameters and the key only. Any thread may call,
// each with a scratch of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/random.h"

namespace mlxforge::cpu {

struct SampleParams {
  float temperature = 0;  // at or below kGreedyTemperature: the largest logit, ties to the lowest
                          // id, whatever the rest says
  int top_k = 0;          // keep this many; below 1 or above the row: all
  float top_p = 1;  // keep the shortest prefix with at least this share of the probability, one
                    // candidate at least; >= 1: all
  float min_p = 0;  // keep those with at least this share of the best one's probability; 0: all
};
inline constexpr float kGreedyTemperature = 1e-4f;

// nan: a logit is NaN. infinite: the largest logit is infinite (+inf, or -inf when every id is
// masked).
enum class SampleError : uint8_t { none, nan, infinite };

struct Sampled {
  int32_t id = -1;  // -1 with an error
  SampleError error = SampleError::none;
};

// Grows to the row's length once; then nothing is allocated.
struct SampleScratch {
  std::vector<float> logit;   // candidates, in parallel
  std::vector<float> weight;  // exp((logit - max) / temperature)
  std::vector<int32_t> id;
};

// logits holds the valid vocabulary only: ids at or above logits.size() cannot be sampled. Empty:
// error infinite. Throws std::bad_alloc when the scratch cannot grow; reserve it at start to rule
// that out.
Sampled sample_row(std::span<const float> logits, const SampleParams& params, const RandomKey& key,
                   SampleScratch& scratch);

}  // namespace mlxforge::cpu
