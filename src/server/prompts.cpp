#include "server/prompts.h"

#include <algorithm>

#include "server/fields.h"

namespace mlxforge {

Result<std::vector<OrderedJson>> split_prompts(OrderedJson value, const char* param, size_t most) {
  const auto is_prompt = [](const OrderedJson& one) { return one.is_string() || one.is_array(); };
  const bool several = value.is_array() && !value.empty() && is_prompt(value[0]);
  std::vector<OrderedJson> prompts;
  if (several)
    prompts.assign(std::make_move_iterator(value.begin()), std::make_move_iterator(value.end()));
  else
    prompts.push_back(std::move(value));
  if (!std::ranges::all_of(prompts, is_prompt))
    return Status::invalid(str("'", param,
                               "' must be a string, a list of token ids, or a list of strings or "
                               "of lists of token ids"),
                           param);
  if (prompts.size() > most)
    return Status::invalid(str("'", param, "' takes at most ", most, ", got ", prompts.size()),
                           param);
  return prompts;
}

Result<TokenIds> prompt_ids(const OrderedJson& prompt, const char* param) {
  TokenIds ids;
  if (Status status = read_token_ids(prompt, param, ids); !status.ok()) return status;
  return ids;
}

Status about_input(Status status, const char* input) {
  if (status.param == "prompt" || status.param == "messages") status.param = input;
  return status;
}

}  // namespace mlxforge
