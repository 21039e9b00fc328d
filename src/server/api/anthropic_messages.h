// Anthropic's conversations in the form that OpenAI's have, which messages.h takes from there.
#pragma once

#include "base/status.h"
#include "server/json.h"

namespace mlxforge {

// `system`: a string, text blocks, or null. `messages`: turns of user and assistant, whose content
// is a string or blocks of text, tool_use, tool_result and thinking.
Result<OrderedJson> openai_messages(const OrderedJson& system, const OrderedJson& messages);

}  // namespace mlxforge
