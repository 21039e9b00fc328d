// Fields that hold one or several prompts: a string, a list of token ids, or a list of these.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "server/json.h"

namespace mlxforge {

using TokenIds = std::vector<int32_t>;
using Prompts = std::vector<TokenIds>;

// The prompts one by one, each a string or an array; at most `most`. `param` is the field's name.
Result<std::vector<OrderedJson>> split_prompts(OrderedJson value, const char* param, size_t most);
// The ids of one that is an array.
Result<TokenIds> prompt_ids(const OrderedJson& prompt, const char* param);

// A failure about the prompt names the field that it is made from.
Status about_input(Status status, const char* input);

}  // namespace mlxforge
