// The fields of a chat that say which functions the model may call, and what they make of the
// request: the tools go to the chat template, and a grammar holds the calls to their schemas.
#pragma once

#include <span>

#include "server/generation_params.h"
#include "server/model_context.h"
#include "text/chat_template.h"

namespace mlxforge {

std::span<const Field> tool_fields();

// Checks and completes the value of a field `tools`, an array.
Status check_tools(OrderedJson& tools);
// The functions and earlier calls as the template takes them, or as text where it takes none.
void show_tools(OrderedJson tools, const ModelContext& model, ChatInput& input);

// Read the values of the fields of these names.
Status read_tools(OrderedJson& value, GenerationParams& params);
Status read_tool_choice(OrderedJson& value, GenerationParams& params);

// Completes `input`, whose messages are normalised, and makes params.grammar that of calls and
// text.
Status plan_tools(GenerationParams& params, const ModelContext& model, ChatInput& input);

}  // namespace mlxforge
