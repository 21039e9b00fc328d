// OpenAI's Responses API.
#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "server/api/input_items.h"
#include "server/api/responses_format.h"
#include "server/api/responses_input.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/reasoning_fields.h"
#include "server/sampling_fields.h"
#include "server/structured_output.h"
#include "server/tools.h"

namespace mlxforge {
namespace {

using enum FieldType;
using Params = GenerationParams;

template <auto member>
Status set_own(OrderedJson& value, Params& params) {
  params.response.*member = std::move(value);
  return {};
}
template <auto member>
Status set_own_text(OrderedJson& value, Params& params) {
  params.response.*member = std::move(value.get_ref<std::string&>());
  return {};
}

// {"format": {"type": "json_schema", "schema": ..., "name": ..., "strict": ...}}
Status set_text(OrderedJson& value, Params& params) {
  for (const auto& [name, part] : value.items()) {
    if (part.is_null()) continue;
    if (name != "format" || !part.is_object())
      return Status::invalid("'text' takes a \"format\" only, an object");
    params.response.text["format"] = part;
    OrderedJson format = part;
    if (Status status = read_answer_format(format, "text.format", params); !status.ok())
      return status;
  }
  return {};
}

// Functions stand in the list without an object around them; other tools have other types.
Status set_tools(OrderedJson& value, Params& params) {
  OrderedJson tools = OrderedJson::array();
  for (const OrderedJson& tool : value) {
    tools.push_back(
        {{"type", tool.is_object() ? string_at(tool, "type") : ""}, {"function", tool}});
    if (tool.is_object()) tools.back()["function"].erase("type");
  }
  params.response.tools = std::move(value);
  return read_tools(tools, params);
}

Status set_tool_choice(OrderedJson& value, Params& params) {
  params.response.tool_choice = value;
  if (value.is_object())
    value = {{"type", string_at(value, "type")},
             {"function", {{"name", string_at(value, "name")}}}};
  return read_tool_choice(value, params);
}

Status set_parallel(OrderedJson& value, Params& params) {
  params.tools.several = value.get<bool>();
  return {};
}

// Beside the effort, values that ask for what is done anyway: the reasoning itself is in the
// answer.
constexpr std::pair<std::string_view, std::string_view> kReasoning[] = {
    {"summary", "auto"}, {"generate_summary", "auto"}, {"context", "auto"}, {"mode", "standard"}};

Status set_reasoning(OrderedJson& value, Params& params) {
  for (auto& [name, part] : value.items()) {
    if (part.is_null()) continue;
    if (name == "effort") {
      if (Status status = read_effort(part, "reasoning", params); !status.ok()) return status;
      continue;
    }
    const auto known = std::ranges::find(kReasoning, name, [](const auto& p) { return p.first; });
    if (known == std::end(kReasoning))
      params.unknown.push_back("reasoning." + name);
    else if (part != known->second)
      return Status::invalid(str("'reasoning.", name, "' can be \"", known->second, "\" only"));
  }
  return {};
}

constexpr Field kFields[] = {
    {"input", any, set_own<&ResponseParams::input>},
    {"instructions", string, set_own_text<&ResponseParams::instructions>},
    {"previous_response_id", string, set_own_text<&ResponseParams::previous_id>},
    {"store", boolean,
     [](OrderedJson& value, Params& params) {
       params.response.store = value.get<bool>();
       return Status{};
     }},
    {"metadata", object, set_own<&ResponseParams::metadata>},
    {"max_output_tokens", integer, set_integer<&Params::max_completion_tokens>, 1, kUnbounded},
    {"text", object, set_text},
    {"tools", array, set_tools},
    {"tool_choice", any, set_tool_choice},
    {"parallel_tool_calls", boolean, set_parallel},
    {"reasoning", object, set_reasoning},
    // Accepted: they say who asks, not what; and events are not padded.
    {"user", string},
    {"safety_identifier", string},
    {"prompt_cache_key", string},
    {"prompt_cache_retention", string},
    {"stream_options", object},
    // Features to come.
    later("include", array, "[]"),
    later("context_management", array, "[]"),
    later("truncation", string, R"("disabled")"),
    later("background", boolean, "false"),
    later("top_logprobs", integer, "0"),
    later("max_tool_calls", integer, "null"),
    later("prompt", object, "null"),
    later("conversation", any, "null"),
};

// What was said before, then the input.
Result<OrderedJson> conversation_of(const ResponseParams& params, const ResponseStore& store) {
  OrderedJson messages = OrderedJson::array();
  if (!params.previous_id.empty()) {
    const auto previous = store.get(params.previous_id);
    if (!previous)
      return Status::invalid(str("the response '", params.previous_id.substr(0, 100),
                                 "' is not kept here (any more); send the whole conversation"),
                             "previous_response_id");
    messages = OrderedJson::parse(previous->conversation);
  }
  if (Status status = append_input(params.input, messages); !status.ok()) return status;
  return messages;
}

Result<Prompts> encode(Params& params, const ApiCall& call) {
  auto conversation = conversation_of(params.response, *call.server.responses);
  if (!conversation.ok()) return conversation.status();
  params.messages = OrderedJson::array();
  if (!params.response.instructions.empty())
    params.messages.push_back({{"role", "system"}, {"content", params.response.instructions}});
  params.messages.insert(params.messages.end(), conversation->begin(), conversation->end());
  params.response.conversation = std::move(*conversation);
  return kChatCompletions.encode(params, call);
}

template <class T>
OrderedJson or_null(const T& value, bool given) {
  return given ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson frame(const Params& params, const ModelContext& model) {
  const ResponseParams& own = params.response;
  const std::string& effort = params.reasoning.effort;
  const int limit = params.max_completion_tokens.value_or(0);
  return {{"id", random_id("resp_")},
          {"object", "response"},
          {"created_at", unix_seconds()},
          {"status", "in_progress"},
          {"background", false},
          {"error", nullptr},
          {"incomplete_details", nullptr},
          {"instructions", or_null(own.instructions, !own.instructions.empty())},
          {"max_output_tokens", or_null(limit, limit > 0)},
          {"model", model.id},
          {"output", OrderedJson::array()},
          {"parallel_tool_calls", params.tools.several},
          {"previous_response_id", or_null(own.previous_id, !own.previous_id.empty())},
          {"reasoning", {{"effort", or_null(effort, !effort.empty())}, {"summary", nullptr}}},
          {"service_tier", "default"},
          {"store", own.store},
          {"temperature", params.temperature.value_or(model.defaults.temperature)},
          {"text", own.text},
          {"tool_choice", own.tool_choice},
          {"tools", own.tools},
          {"top_logprobs", 0},
          {"top_p", params.top_p.value_or(model.defaults.top_p)},
          {"truncation", "disabled"},
          {"usage", nullptr},
          {"metadata", own.metadata}};
}

std::unique_ptr<AnswerFormat> format(Params& params, const Prompts&,
                                     const ServerState::View& server) {
  ResponsesFormat::Setup setup{.frame = frame(params, *server.model)};
  if (params.response.store) {
    setup.input = listed_items(params.response.input);
    setup.conversation = std::move(params.response.conversation);
    setup.store = server.responses;
  }
  return std::make_unique<ResponsesFormat>(std::move(setup));
}

}  // namespace

const GenerateEndpoint kResponses = {.input = "input",
                                     .fields = {kFields, reasoning_fields(), generation_fields(),
                                                sampling_fields(), structured_output_fields()},
                                     .encode = encode,
                                     .format = format};

ApiResult responses(const ApiCall& call) { return generate(call, kResponses); }

ApiResult get_response(const ApiCall& call) {
  auto kept = call.server.responses->get(call.argument);
  if (!kept) return error_reply(not_kept(call.argument));
  return HttpReply{.body = std::move(kept->body)};
}

ApiResult delete_response(const ApiCall& call) {
  if (!call.server.responses->erase(call.argument)) return error_reply(not_kept(call.argument));
  return HttpReply{.body =
                       to_text({{"id", call.argument}, {"object", "response"}, {"deleted", true}})};
}

}  // namespace mlxforge
