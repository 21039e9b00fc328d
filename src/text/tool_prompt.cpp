#include "text/tool_prompt.h"

#include <algorithm>
#include <cctype>

#include "base/str.h"

namespace mlxforge {
namespace {

std::string call_text(const ToolFormat& format, std::string_view opening, std::string_view name,
                      std::string_view arguments) {
  return str(opening, name, format.middle, arguments, format.close);
}

std::string tools_block(const OrderedJson& tools, const ToolFormat& format) {
  std::string out = "You can call these functions:\n<tools>\n";
  for (const OrderedJson& tool : tools) out += tool.dump() + "\n";
  out += str("</tools>\nTo call one, answer with nothing but\n", format.lead,
             call_text(format, format.open, "NAME", "{ARGUMENTS}"), format.end,
             "\nIts result then comes between <tool_response> and </tool_response>.");
  return out;
}

std::string text_of(const OrderedJson& message) {
  return message.contains("content") && message["content"].is_string() ? message["content"] : "";
}

void write_calls(OrderedJson& message, const ToolFormat& format) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array() || calls->empty()) return;
  std::string text = text_of(message);
  if (!text.empty()) text += "\n";
  text += format.lead;
  for (size_t i = 0; i < calls->size(); ++i) {
    const OrderedJson& function = (*calls)[i]["function"];
    const OrderedJson& arguments = function["arguments"];
    text += call_text(format, i == 0 ? format.open : format.between,
                      function["name"].get<std::string>(),
                      arguments.is_string() ? arguments.get<std::string>() : arguments.dump());
  }
  message.erase("tool_calls");
  message["content"] = text + std::string(format.end);
}

// FNV-1a in base 36.
std::string short_id(const std::string& id) {
  constexpr size_t kLength = 9;
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  const auto fits = [](unsigned char c) { return std::isalnum(c); };
  if (id.size() == kLength && std::ranges::all_of(id, fits)) return id;
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : id) hash = (hash ^ c) * 0x100000001b3;
  std::string out;
  for (; out.size() < kLength; hash /= 36) out += kDigits[hash % 36];
  return out;
}

}  // namespace

void shorten_ids(OrderedJson& messages) {
  for (OrderedJson& message : messages) {
    if (message.contains("tool_call_id"))
      message["tool_call_id"] = short_id(message["tool_call_id"].get<std::string>());
    if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
    for (OrderedJson& call : message["tool_calls"])
      call["id"] = short_id(call.value("id", std::string()));
  }
}

bool reads_tools(const ChatTemplate& chat) {
  ChatInput probe;
  probe.messages.push_back({{"role", "user"}, {"content", "a"}});
  const auto without = chat.render(probe);
  probe.tools = OrderedJson::parse(
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{}}}}])");
  const auto with = chat.render(probe);
  return with.ok() && (!without.ok() || with.value() != without.value());
}

void write_tools_as_text(ChatInput& input, const ToolFormat& format) {
  OrderedJson& messages = input.messages;
  for (OrderedJson& message : messages) {
    write_calls(message, format);
    if (message["role"] != "tool") continue;
    message["role"] = "user";
    message["content"] = "<tool_response>\n" + text_of(message) + "\n</tool_response>";
  }
  if (!input.tools.is_array() || input.tools.empty()) return;
  const std::string block = tools_block(input.tools, format);
  input.tools = nullptr;
  if (messages[0]["role"] == "system")
    messages[0]["content"] = text_of(messages[0]) + "\n\n" + block;
  else
    messages.insert(messages.begin(), OrderedJson{{"role", "system"}, {"content", block}});
}

}  // namespace mlxforge
