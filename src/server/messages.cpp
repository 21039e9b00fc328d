#include "server/messages.h"

#include <algorithm>

namespace mlxforge {
namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};

Status bad(size_t i, const std::string& what) {
  return Status::invalid(str("messages[", i, "]", what), "messages");
}

// Clients send answers back with all their members, and to a template a null one would be there.
Status drop_unset(OrderedJson& message, size_t i) {
  OrderedJson kept = OrderedJson::object();
  for (auto& [name, value] : message.items()) {
    const bool no_calls = name == "tool_calls" && value == OrderedJson::array();
    if (name == "content" || !(value.is_null() || no_calls)) kept[name] = std::move(value);
  }
  message = std::move(kept);
  for (const char* name : {"function_call", "audio"})
    if (message.contains(name)) return bad(i, str(".", name, " is not supported"));
  return {};
}

Status normalise_role(OrderedJson& message, size_t i) {
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string()) return bad(i, ".role must be a string");
  if (std::ranges::find(kRoles, role->get_ref<const std::string&>()) == std::end(kRoles))
    return bad(i, ".role must be system, developer, user, assistant or tool");
  if (*role == "developer") *role = "system";
  return {};
}

Status join_parts(OrderedJson& content, size_t i) {
  std::string text;
  for (const auto& part : content) {
    if (!part.is_object())
      return bad(i, ".content must be a string or a list of parts, each an object with a type");
    const auto type = part.find("type");
    if (type == part.end() || *type != "text")
      return bad(i, ".content has a part that is not of type 'text'; no other is supported");
    const auto piece = part.find("text");
    if (piece == part.end() || !piece->is_string())
      return bad(i, ".content has a text part without a string 'text'");
    text += piece->get_ref<const std::string&>();
  }
  content = std::move(text);
  return {};
}

Status normalise_content(OrderedJson& message, size_t i) {
  OrderedJson& content = message["content"];
  if (content.is_string()) return {};
  if (content.is_array()) return join_parts(content, i);
  if (!content.is_null()) return bad(i, ".content must be a string or a list of parts");
  if (message["role"] != "assistant") return bad(i, ".content is missing");
  if (!message.contains("tool_calls")) content = "";
  return {};
}

Status check_reasoning(OrderedJson& message, size_t i) {
  const auto reasoning = message.find("reasoning_content");
  if (reasoning == message.end() || reasoning->is_string()) return {};
  return bad(i, ".reasoning_content must be a string");
}

// Templates print the arguments as JSON; a string would be printed quoted.
void open_arguments(OrderedJson& arguments) {
  if (!arguments.is_string()) return;
  auto opened = parse_body(arguments.get_ref<const std::string&>());
  if (opened.ok()) arguments = std::move(*opened);
}

bool is_text(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string();
}

Status normalise_call(OrderedJson& call, const std::string& where, size_t i) {
  if (!call.is_object()) return bad(i, where + " must be an object");
  for (const char* name : {"id", "type"})
    if (call.contains(name) && call[name].is_null()) call.erase(name);
  if (call.contains("id") && !is_text(call, "id")) return bad(i, where + ".id must be a string");
  if (call.contains("type") && call["type"] != "function")
    return bad(i, where + ".type must be 'function'");
  const auto function = call.find("function");
  if (function == call.end() || !function->is_object() || !is_text(*function, "name"))
    return bad(i, where + ".function must be an object with a string 'name'");
  OrderedJson& arguments = (*function)["arguments"];
  if (arguments.is_null() || arguments == "") arguments = OrderedJson::object();
  if (!arguments.is_string() && !arguments.is_object())
    return bad(i, where + ".function.arguments must be a string of JSON or an object");
  open_arguments(arguments);
  return {};
}

Status normalise_tool_calls(OrderedJson& message, size_t i) {
  if (message.contains("tool_call_id") && !is_text(message, "tool_call_id"))
    return bad(i, ".tool_call_id must be a string");
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return {};
  if (!calls->is_array()) return bad(i, ".tool_calls must be a list");
  if (message["role"] != "assistant") return bad(i, ".tool_calls is for assistants only");
  for (size_t k = 0; k < calls->size(); ++k) {
    const std::string where = str(".tool_calls[", k, "]");
    if (Status status = normalise_call((*calls)[k], where, i); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status normalise_messages(OrderedJson& messages) {
  if (!messages.is_array() || messages.empty())
    return Status::invalid("'messages' must be a non-empty list of messages", "messages");
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object()) return bad(i, " must be an object with a role and a content");
    for (const auto step :
         {drop_unset, normalise_role, normalise_content, check_reasoning, normalise_tool_calls})
      if (Status status = step(messages[i], i); !status.ok()) return status;
  }
  return {};
}

OrderedJson function_call(std::string id, std::string name, OrderedJson arguments) {
  return {{"id", std::move(id)},
          {"type", "function"},
          {"function", {{"name", std::move(name)}, {"arguments", std::move(arguments)}}}};
}

}  // namespace mlxforge
