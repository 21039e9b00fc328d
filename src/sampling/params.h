// Per-row sampling parameters, as a request gives them. No MLX.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace mlxforge {

class SequenceBreakers;

struct LogitBias {
  int32_t id = 0;  // below the model's vocabulary
  float bias = 0;
};

// Of tokens that have come before. See logit_processors.h for the formulas.
struct Penalties {
  float repetition = 1;  // above 0; 1: off. Counts prompt and output
  float frequency = 0;   // 0: off. These two count the output only
  float presence = 0;
  int last_n = -1;  // tokens looked back at; 0: none, -1: all
};

// Of tokens that would make a repetition longer (DRY, "don't repeat yourself").
struct Dry {
  float multiplier = 0;  // 0: off
  float base = 1.75f;    // at least 1
  int allowed_length = 2;
  int last_n = -1;                                   // tokens looked back at; 0: none, -1: all
  std::shared_ptr<const SequenceBreakers> breakers;  // no repetition reaches across; may be null
};

// A token is chosen in this order: logit_bias, penalties, dry; then, unless temperature is 0
// (greedy), temperature, top_k, top_p, min_p, typical_p, xtc, and a draw from what is left.
struct SamplingParams {
  float temperature = 0;
  int top_k = 0;  // below 1: off
  float top_p = 1;
  float min_p = 0;
  float typical_p = 1;
  float xtc_probability = 0;  // 0: off
  float xtc_threshold = 0.1f;
  // Random bits are keyed by (seed, choice, output index): the same seed gives the same text in any
  // company.
  uint64_t seed = 0;
  uint32_t choice = 0;

  std::vector<LogitBias> logit_bias;
  Penalties penalties;
  Dry dry;
};

}  // namespace mlxforge
