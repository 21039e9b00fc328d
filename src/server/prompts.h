// Fields that hold one or several prompts: a string, a list of token ids, or a list of these.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "server/json.h"

namespace mlxforge {

using TokenIds = std::vector<int32_t>;
using Prompts = std::vector<TokenIds>;

// A failure about the prompt as one about the field that the prompt was made from.
inline Status told_of(const char* field, Status status) {
  if (status.param == "prompt") status.param = field;
  return status;
}

// The prompts one by one, each a string or an array; at most `most`. `param` is the field's name.
Result<std::vector<OrderedJson>> split_prompts(OrderedJson value, const char* param, size_t most);
// The ids of one that is an array.
Result<TokenIds> prompt_ids(const OrderedJson& prompt, const char* param);

}  // namespace mlxforge
