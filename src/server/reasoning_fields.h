// The fields of a chat that say how much the model may reason before it answers, and what they make
// of the request.
#pragma once

#include <span>

#include "server/generation_params.h"
#include "server/model_context.h"
#include "text/chat_template.h"

namespace mlxforge {

std::span<const Field> reasoning_fields();

// Reads an effort, which stands in `field`.
Status read_effort(OrderedJson& value, const char* field, GenerationParams& params);

// What the fields ask for, in params.reasoning and `input`: an effort goes to a chat template that
// reads `reasoning_effort`, else it is a budget. Before tools are planned.
Status plan_reasoning(GenerationParams& params, const ModelContext& model, ChatInput& input);
// When `input` has become this prompt: where in its reasoning the answer begins.
void locate_answer(GenerationParams& params, const ModelContext& model, const ChatInput& input,
                   std::span<const int32_t> prompt);

ReasoningRules reasoning_rules(const GenerationParams& params, const ModelContext& model);

}  // namespace mlxforge
