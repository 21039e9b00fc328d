// Log-probabilities as JSON: OpenAI's two shapes and vLLM's for prompts. No number in them is
// infinite or NaN.
#pragma once

#include <span>

#include "server/answer_format.h"
#include "server/json.h"

namespace mlxforge {

// {"content": [{"token", "logprob", "bytes", "top_logprobs": [...]}], "refusal": null}
OrderedJson chat_logprobs(std::span<const ScoredToken> tokens);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}, a list each. top_logprobs has an
// object for each token, which always holds the token itself.
OrderedJson completion_logprobs(std::span<const ScoredToken> tokens);

// [null, {"<id>": {"logprob", "rank", "decoded_token"}, ...}, ...]: the token itself, then the
// likeliest.
OrderedJson prompt_logprobs(std::span<const ScoredToken> tokens);

}  // namespace mlxforge
