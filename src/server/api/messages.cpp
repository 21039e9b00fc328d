// Anthropic's Messages API.
#include "server/api/anthropic_format.h"
#include "server/api/anthropic_messages.h"
#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "server/error.h"
#include "server/ignored_fields.h"
#include "server/reasoning_fields.h"
#include "server/sampling_fields.h"
#include "server/structured_output.h"
#include "server/tools.h"

namespace mlxforge {
namespace {

using enum FieldType;
using Params = GenerationParams;
using Choice = ToolParams::Choice;

constexpr size_t kMaxStopSequences = 64;

Status set_stop_sequences(OrderedJson& value, Params& params) {
  return read_stop_strings(value, "stop_sequences", kMaxStopSequences, params);
}

// A tool that the server would have to run itself has a type of its own.
Status set_tools(OrderedJson& value, Params& params) {
  OrderedJson tools = OrderedJson::array();
  for (size_t i = 0; i < value.size(); ++i) {
    OrderedJson& tool = value[i];
    if (!tool.is_object() || (tool.contains("type") && tool["type"] != "custom"))
      return Status::invalid(str("tools[", i,
                                 "] must be an object of type 'custom' (or without a "
                                 "type); no other is supported"));
    OrderedJson function = {{"name", tool["name"]}, {"parameters", tool["input_schema"]}};
    if (tool.contains("description")) function["description"] = tool["description"];
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return read_tools(tools, params);
}

Status set_tool_choice(OrderedJson& value, Params& params) {
  constexpr std::pair<const char*, Choice> kTypes[] = {{"auto", Choice::automatic},
                                                       {"any", Choice::required},
                                                       {"tool", Choice::named},
                                                       {"none", Choice::none}};
  const std::string type = string_at(value, "type");
  const auto found = std::ranges::find(kTypes, type, [](const auto& t) { return t.first; });
  params.tools.named = string_at(value, "name");
  if (found == std::end(kTypes) || (type == "tool" && params.tools.named.empty()))
    return Status::invalid(
        R"('tool_choice' must have the type "auto", "any", "none", or "tool" and a "name")");
  params.tools.choice = found->second;
  const OrderedJson single = value.value("disable_parallel_tool_use", OrderedJson());
  if (!single.is_null() && !single.is_boolean())
    return Status::invalid("'tool_choice.disable_parallel_tool_use' must be a boolean");
  params.tools.several = single != true;
  return {};
}

// {"type": "json_schema", "schema": {...}}
Status read_format(OrderedJson& format, const char* name, Params& params) {
  if (format.is_object() && string_at(format, "type") == "json_schema")
    return read_answer_format(format, name, params);
  return Status::invalid(str("'", name, "' must be an object of the type \"json_schema\""));
}

// {"format": {"type": "json_schema", "schema": {...}}, "effort": "low"}
Status set_output_config(OrderedJson& value, Params& params) {
  for (auto& [name, part] : value.items()) {
    if (part.is_null()) continue;
    Status status =
        name == "format" ? read_format(part, "output_config.format", params)
        : name == "effort"
            ? read_effort(part, "output_config", params)
            : Status::invalid("'output_config' takes a \"format\" and an \"effort\" only");
    if (!status.ok()) return status;
  }
  return {};
}

// The same under its name in Anthropic's beta.
Status set_output_format(OrderedJson& value, Params& params) {
  return read_format(value, "output_format", params);
}

// Left out, the model reasons as it does by itself.
Status set_thinking(OrderedJson& value, Params& params) {
  const std::string type = string_at(value, "type");
  const OrderedJson display = value.value("display", OrderedJson());
  if (!display.is_null() && display != "summarized")
    return Status::invalid("'thinking.display' can be \"summarized\" only");
  if (type == "adaptive") return {};
  const OrderedJson budget = value.value("budget_tokens", OrderedJson());
  if (type == "enabled" && budget.is_number_integer() && budget > 0) {
    params.reasoning.budget_field = "thinking";
    params.reasoning.budget = to_integer<int>(budget);
    return {};
  }
  OrderedJson none = "none";
  if (type == "disabled") return read_effort(none, "thinking", params);
  return Status::invalid(
      R"('thinking' must have the type "disabled", "adaptive", or "enabled" and "budget_tokens" of at least 1)");
}

constexpr Field kFields[] = {
    {"messages", array, set_json<&Params::messages>},
    {"system", any, set_json<&Params::system>},
    {"stop_sequences", array, set_stop_sequences},
    {"tools", array, set_tools},
    {"tool_choice", object, set_tool_choice},
    {"output_config", object, set_output_config},
    {"thinking", object, set_thinking},
    {"output_format", object, set_output_format},
    // Accepted: prompts are cached without being asked to, and there is one place and one speed.
    {"cache_control", object},
    {"metadata", object},
    {"inference_geo", string},
    {"speed", string},
    // Features to come.
    later("container", any, "null"),
    later("context_management", object, "null"),
    later("mcp_servers", array, "[]"),
};

Result<Prompts> encode(Params& params, const ApiCall& call) {
  auto messages = openai_messages(params.system, params.messages);
  if (!messages.ok()) return messages.status();
  params.messages = std::move(*messages);
  params.continue_final_message = params.messages.back()["role"] == "assistant";
  auto prompts = kChatCompletions.encode(params, call);
  if (prompts.ok() || prompts.status().param != "continue_final_message") return prompts;
  return Status::invalid(
      "the answer cannot go on with the last message: the chat template does not show its text as "
      "it is, or it has none; end with a message of the user",
      "messages");
}

std::unique_ptr<AnswerFormat> format(Params&, const Prompts& prompts,
                                     const ServerState::View& server) {
  const int n = static_cast<int>(prompts.front().size());
  return std::make_unique<AnthropicFormat>(server.model->id, n);
}

}  // namespace

const GenerateEndpoint kMessages = {
    .input = "messages",
    .fields = {kFields, generation_fields(), sampling_fields(), structured_output_fields()},
    .encode = encode,
    .format = format};

ApiResult messages(const ApiCall& call) { return generate(call, kMessages); }

ApiResult count_tokens(const ApiCall& call) {
  const auto parsed = parse_request(call, kMessages);
  if (!parsed.ok()) return error_reply(parsed.status());
  const OrderedJson body = {{"input_tokens", parsed.value().prompts.front().size()}};
  return HttpReply{.body = to_text(body), .headers = report_ignored(parsed.value().params.unknown)};
}

}  // namespace mlxforge
