#include "server/chat_params.h"

#include "server/messages.h"

namespace mlxforge {
namespace {

using Template = std::shared_ptr<const ChatTemplate>;

Result<Template> chosen_template(const ChatParams& params, const ModelContext& model) {
  if (params.chat_template.empty() && model.chat_template) return model.chat_template;
  if (params.chat_template.empty())
    return Status::invalid(
        "this model has no chat template; start the server with --chat-template FILE or use "
        "/v1/completions",
        "messages");
  if (!model.allow_request_template)
    return Status::invalid(
        "requests may not bring a template of their own; leave 'chat_template' out, or start the "
        "server with --allow-request-template",
        "chat_template");
  try {
    return Template(std::make_shared<const ChatTemplate>(
        TemplateSource{.text = params.chat_template, .tool_use = ""},
        model.tokenizer->special_names()));
  } catch (const Error& error) {
    return Status::invalid(error.what(), "chat_template");
  }
}

// Variables that have fields of their own.
Status check_kwargs(const ChatParams& params) {
  for (const char* name : {"messages", "tools", "documents", "add_generation_prompt"})
    if (params.chat_template_kwargs.contains(name))
      return Status::invalid(
          str("'chat_template_kwargs' must not have '", name, "'; send it as a field of its own"),
          "chat_template_kwargs");
  return {};
}

Status check_ending(const ChatParams& params) {
  if (!params.continue_final_message) return {};
  if (params.add_generation_prompt.value_or(false))
    return Status::invalid(
        "'add_generation_prompt' begins a new message and 'continue_final_message' does not; "
        "leave one of them out",
        "continue_final_message");
  if (!params.messages.back()["content"].is_string())
    return Status::invalid("'continue_final_message' needs a final message with content",
                           "continue_final_message");
  return {};
}

}  // namespace

Result<ChatInput> chat_input(ChatParams& params) {
  if (Status status = normalise_messages(params.messages); !status.ok()) return status;
  for (const auto check : {check_kwargs, check_ending})
    if (Status status = check(params); !status.ok()) return status;
  ChatInput input;
  input.messages = std::move(params.messages);
  input.kwargs = std::move(params.chat_template_kwargs);
  input.continue_final_message = params.continue_final_message;
  input.add_generation_prompt =
      params.add_generation_prompt.value_or(!params.continue_final_message);
  return input;
}

Result<std::vector<int32_t>> encode_conversation(const ChatParams& params, const ChatInput& input,
                                                 const ModelContext& model,
                                                 const EncodeLimits& limits) {
  const Result<Template> chat = chosen_template(params, model);
  if (!chat.ok()) return chat.status();
  return encode_chat(*model.tokenizer, *chat.value(), input, limits);
}

}  // namespace mlxforge
