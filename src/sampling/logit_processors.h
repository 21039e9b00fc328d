// Logit processors: what a request's history and wishes do to its row of logits before a token is
// chosen, whatever the temperature. They change the row in place and look at nothing else; a row
// without them costs a few comparisons. In this order, over ids below the row's size:
//   logit_bias   l[id] += bias
//   repetition   once for each id among the last tokens, prompt and output (Keskar et al., "CTRL",
//                2019; Hugging Face's repetition_penalty): l < 0 ? l * p : l / p
//   frequency,   of the c times that id is among the last tokens of the output (OpenAI):
//   presence     l -= c * frequency + (c > 0) * presence
//   dry          where choosing id would make the end of the text repeat n >= allowed_length
//   earlier
//                tokens and go on as they did (p-e-w's DRY, as in koboldcpp and llama.cpp):
//                l -= multiplier * base^(n - allowed_length), n the longest such repetition
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/params.h"

namespace mlxforge {

struct TokenHistory {
  std::span<const int32_t> tokens;  // the prompt, then the output so far
  size_t n_prompt = 0;
};

// Memory that processors work in. Owned by the calling thread.
struct ProcessorScratch {
  std::vector<uint32_t> counts;   // by id; all zero between calls
  std::vector<uint32_t> lengths;  // by position
};

// Throws std::bad_alloc when the scratch has to grow and cannot.
void process_logits(std::span<float> logits, const SamplingParams& params,
                    const TokenHistory& history, ProcessorScratch& scratch);

}  // namespace mlxforge
