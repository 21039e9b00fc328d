#include "server/tools.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "text/tool_grammar.h"
#include "text/tool_prompt.h"

namespace mlxforge {
namespace {

using enum FieldType;
using Params = GenerationParams;
using Choice = ToolParams::Choice;

constexpr size_t kMaxTools = 128;
constexpr size_t kMaxName = 64;

Status bad(size_t i, const std::string& what) {
  return Status::invalid(str("tools[", i, "]", what), "tools");
}

bool is_name(const OrderedJson& name) {
  if (!name.is_string()) return false;
  const auto& text = name.get_ref<const std::string&>();
  return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
}

// Absent or null: no arguments. A schema that does not say so is that of an object all the same.
Status complete_parameters(OrderedJson& function, size_t i) {
  OrderedJson& schema = function["parameters"];
  if (schema.is_null())
    schema = {
        {"type", "object"}, {"properties", OrderedJson::object()}, {"additionalProperties", false}};
  if (!schema.is_object()) return bad(i, ".function.parameters must be a JSON schema");
  if (!schema.contains("type")) schema["type"] = "object";
  if (schema["type"] != "object")
    return bad(i, ".function.parameters must have the type \"object\"");
  return {};
}

Status check_tool(OrderedJson& tool, size_t i) {
  if (!tool.is_object() || !tool.contains("type") || tool["type"] != "function")
    return bad(i, " must be an object of type 'function'; no other is supported");
  if (!tool.contains("function") || !tool["function"].is_object())
    return bad(i, ".function must be an object");
  OrderedJson& function = tool["function"];
  if (!function.contains("name") || !is_name(function["name"]))
    return bad(i, ".function.name must be 1 to 64 letters, digits, - and _");
  if (function.contains("description") && !function["description"].is_string() &&
      !function["description"].is_null())
    return bad(i, ".function.description must be a string");
  return complete_parameters(function, i);
}

// Without functions, these two choices mean the same.
Status check_function_call(OrderedJson& value, Params&) {
  if (value == "none" || value == "auto") return {};
  return Status::invalid("'function_call' is not supported; use 'tools' and 'tool_choice'");
}

constexpr Field kFields[] = {
    {"tools", array, read_tools},
    {"tool_choice", any, read_tool_choice},
    {"parallel_tool_calls", boolean,
     [](OrderedJson& value, Params& params) {
       params.tools.several = value.get<bool>();
       return Status{};
     }},
    {"functions", array, nullptr, -kUnbounded, kUnbounded, "[]"},
    {"function_call", any, check_function_call},
};

// Those that may be called.
std::vector<ToolFunction> functions_of(const ToolParams& tools) {
  std::vector<ToolFunction> out;
  for (size_t i = 0; i < tools.list.size(); ++i) {
    const OrderedJson& function = tools.list[i]["function"];
    if (tools.choice == Choice::named && function["name"] != tools.named) continue;
    out.push_back({.name = function["name"],
                   .parameters = to_text(function["parameters"]),
                   .label = str("tools[", i, "].function.parameters")});
  }
  return out;
}

Status check_choice(const ToolParams& tools, bool any_function) {
  if (tools.choice == Choice::automatic || tools.choice == Choice::none || any_function) return {};
  return Status::invalid(tools.choice == Choice::named
                             ? str("'tool_choice' names '", tools.named.substr(0, kMaxName),
                                   "', which is not among 'tools'")
                             : "'tool_choice' is \"required\", but there are no 'tools'",
                         "tool_choice");
}

}  // namespace

std::span<const Field> tool_fields() { return kFields; }

Status check_tools(OrderedJson& value) {
  if (value.size() > kMaxTools)
    return Status::invalid(str("'tools' takes at most ", kMaxTools, ", got ", value.size()));
  for (size_t i = 0; i < value.size(); ++i) {
    if (Status status = check_tool(value[i], i); !status.ok()) return status;
    for (size_t k = 0; k < i; ++k)
      if (value[k]["function"]["name"] == value[i]["function"]["name"])
        return bad(i, ".function.name is that of another tool");
  }
  return {};
}

void show_tools(OrderedJson tools, const ModelContext& model, ChatInput& input) {
  if (!tools.empty()) input.tools = std::move(tools);
  if (!model.template_reads_tools) write_tools_as_text(input, *model.tool_format);
  if (model.tool_format->short_ids) shorten_ids(input.messages);
}

Status read_tools(OrderedJson& value, Params& params) {
  Status status = check_tools(value);
  if (status.ok()) params.tools.list = std::move(value);
  return status;
}

Status read_tool_choice(OrderedJson& value, Params& params) {
  constexpr std::pair<const char*, Choice> kWords[] = {
      {"auto", Choice::automatic}, {"none", Choice::none}, {"required", Choice::required}};
  for (const auto& [word, choice] : kWords)
    if (value == word) return params.tools.choice = choice, Status{};
  const OrderedJson::json_pointer name("/function/name");
  if (!value.is_object() || !value.contains("type") || value["type"] != "function" ||
      !value.contains(name) || !value[name].is_string())
    return Status::invalid(
        R"('tool_choice' must be "none", "auto", "required" or {"type": "function", "function": {"name": ...}})");
  params.tools.choice = Choice::named;
  params.tools.named = value[name];
  return {};
}

Status plan_tools(Params& params, const ModelContext& model, ChatInput& input) {
  ToolParams& tools = params.tools;
  ToolGrammar calls{.format = model.tool_format,
                    .functions = functions_of(tools),
                    .must_call = tools.choice != Choice::automatic,
                    .several = tools.several && tools.choice != Choice::named,
                    .text = std::nullopt};
  if (Status status = check_choice(tools, !calls.functions.empty()); !status.ok()) return status;
  const bool may_call = tools.choice != Choice::none && !calls.functions.empty();
  if (may_call) {
    tools.format = model.tool_format;
    if (!params.grammar.text.empty()) calls.text = std::move(params.grammar);
    params.grammar = tool_grammar(calls, *model.tokenizer);
    params.grammar_field = "tools";
  }
  show_tools(may_call ? std::move(tools.list) : OrderedJson::array(), model, input);
  return {};
}

}  // namespace mlxforge
