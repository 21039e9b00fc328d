// What the prompt of a conversation is made from: the fields that /v1/chat/completions and
// /tokenize share, and the ids that they give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/fields.h"
#include "server/model_context.h"
#include "text/chat_template.h"
#include "text/prompt.h"

namespace mlxforge {

struct ChatParams : RequestParams {
  OrderedJson messages;
  std::string chat_template;  // instead of the model's
  OrderedJson chat_template_kwargs = OrderedJson::object();
  bool continue_final_message = false;
  std::optional<bool> add_generation_prompt;  // none: unless the final message is continued
};

template <class Params>
inline constexpr FieldOf<Params> kChatFields[] = {
    {"messages", FieldType::array, set_json<&Params::messages>},
    {"chat_template", FieldType::string, set_string<&Params::chat_template>},
    {"chat_template_kwargs", FieldType::object, set_json<&Params::chat_template_kwargs>},
    {"continue_final_message", FieldType::boolean, set_boolean<&Params::continue_final_message>},
    {"add_generation_prompt", FieldType::boolean, set_boolean<&Params::add_generation_prompt>},
};

// Checks the fields and moves from them. The messages are normalised.
Result<ChatInput> chat_input(ChatParams& params);
// Through the model's template, or the request's own.
Result<std::vector<int32_t>> encode_conversation(const ChatParams& params, const ChatInput& input,
                                                 const ModelContext& model,
                                                 const EncodeLimits& limits);

}  // namespace mlxforge
