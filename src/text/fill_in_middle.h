// Prompts for models that were trained to fill in what stands between a prefix and a suffix: prefix
// token, prefix, suffix token, suffix, middle token. The answer is the middle.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/prompt.h"

namespace mlxforge {

// Both are text throughout; BOS by the tokenizer's rule. A failure when the tokenizer has no such
// tokens.
Result<std::vector<int32_t>> encode_fill_in_middle(const Tokenizer& tokenizer,
                                                   std::string_view prefix, std::string_view suffix,
                                                   const EncodeLimits& limits = {});

}  // namespace mlxforge
