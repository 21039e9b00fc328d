#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "server/messages.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

using enum FieldType;

Status set_messages(OrderedJson& value, GenerationParams& params) {
  params.input = std::move(value);
  return {};
}

// Without tools, these two choices mean the same.
Status check_tool_choice(OrderedJson& value, GenerationParams&) {
  if (value == "none" || value == "auto") return {};
  return Status::invalid("tools are not supported yet; leave this field out or send \"none\"");
}

constexpr Field kFields[] = {
    {"messages", array, set_messages},
    {"tool_choice", any, check_tool_choice},
    {"function_call", any, check_tool_choice},
    // Accepted: without tools it says nothing.
    {"parallel_tool_calls", boolean},
    // Features to come.
    later("logprobs", boolean, "false"),
    later("top_logprobs", integer, "0", 0, 20),
    later("tools", array, "[]"),
    later("functions", array, "[]"),
    later("documents", array, "[]"),
    later("chat_template", string, "null"),
    later("chat_template_kwargs", object, "{}"),
    later("continue_final_message", boolean, "false"),
    later("add_generation_prompt", boolean, "true"),
    later("reasoning_effort", string, "null"),
    later("verbosity", string, "null"),
    later("modalities", array, R"(["text"])"),
    later("audio", object, "null"),
    later("prediction", object, "null"),
    later("web_search_options", object, "null"),
};

Result<std::vector<int32_t>> encode(OrderedJson& messages, const ModelContext& model) {
  if (!model.chat_template)
    return Status::invalid(
        "this model has no chat template; start the server with --chat-template FILE or use "
        "/v1/completions",
        "messages");
  if (Status status = normalise_messages(messages); !status.ok()) return status;
  ChatInput input;
  input.messages = std::move(messages);
  return encode_chat(*model.tokenizer, *model.chat_template, input);
}

}  // namespace

const GenerateEndpoint kChatCompletions = {
    .fields = kFields, .shape = kChatShape, .encode = encode};

ApiResult chat_completions(const ApiCall& call) { return generate(call, kChatCompletions); }

}  // namespace mlxforge
