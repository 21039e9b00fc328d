// Per-row sampling parameters, as a request gives them. No MLX.
#pragma once

#include <cstdint>

namespace mlxforge {

// temperature 0 is greedy and ignores the rest. Filters apply in this order: temperature, top_k,
// top_p, min_p.
struct SamplingParams {
  float temperature = 0;
  int top_k = 0;  // below 1: off
  float top_p = 1;
  float min_p = 0;
  // Random bits are keyed by (seed, choice, output index): the same seed gives the same text in any
  // company.
  uint64_t seed = 0;
  uint32_t choice = 0;
};

}  // namespace mlxforge
