// Log-probabilities of tokens: log_softmax of a row of the model's raw logits, before processors,
// filters and temperature, over the whole vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mlxforge {

struct TokenLogprob {
  int32_t id = -1;
  float logprob = 0;  // NaN when the row has a NaN
};

struct TokenLogprobs {
  TokenLogprob token;             // the one that was chosen, or that stands in the prompt
  int rank = 0;                   // among the ids that can be sampled; 1: the likeliest
  std::vector<TokenLogprob> top;  // the likeliest, best first; ties: the lower id first
};

// `top` holds the n_top likeliest of the ids below n_valid.
TokenLogprobs token_logprobs(std::span<const float> logits, int n_valid, int32_t id, int n_top);

}  // namespace mlxforge
