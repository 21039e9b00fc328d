#include "server/api/responses_input.h"

#include "server/messages.h"

namespace mlxforge {
namespace {

constexpr const char* kParam = "input";

Status bad(size_t i, const std::string& what) {
  return Status::invalid(str("input[", i, "]", what), kParam);
}

bool is_text(const std::string& type) {
  return type == "input_text" || type == "output_text" || type == "text" ||
         type == "reasoning_text" || type == "summary_text";
}

// A string, or parts of text as chat messages have them.
Result<OrderedJson> text_parts(const OrderedJson& content, size_t i) {
  if (content.is_string()) return content;
  if (!content.is_array()) return bad(i, " must have text or a list of parts");
  OrderedJson parts = OrderedJson::array();
  for (const OrderedJson& part : content) {
    if (!part.is_object() || !is_text(string_at(part, "type")))
      return bad(i, " has a part that is not text; no other is supported");
    if (!part.contains("text") || !part["text"].is_string())
      return bad(i, " has a part without a string 'text'");
    parts.push_back({{"type", "text"}, {"text", part["text"]}});
  }
  return parts;
}

// Whether the last turn waits for the answer that was reasoned about.
bool only_reasons(const OrderedJson& messages) {
  if (messages.empty() || !messages.back().contains("reasoning_content")) return false;
  return messages.back()["content"].is_null() && !messages.back().contains("tool_calls");
}

Status append_message(const OrderedJson& item, size_t i, OrderedJson& messages) {
  const std::string role = string_at(item, "role");
  if (role != "user" && role != "assistant" && role != "system" && role != "developer")
    return bad(i, ".role must be user, assistant, system or developer");
  auto content = text_parts(item.value("content", OrderedJson()), i);
  if (!content.ok()) return content.status();
  if (role == "assistant" && only_reasons(messages))
    messages.back()["content"] = std::move(*content);
  else
    messages.push_back({{"role", role}, {"content", std::move(*content)}});
  return {};
}

// Calls that follow one another, or a text or the reasoning of the assistant, are one turn.
Status append_call(const OrderedJson& item, size_t i, OrderedJson& messages) {
  const std::string id = string_at(item, "call_id"), name = string_at(item, "name");
  if (id.empty() || name.empty() || !item.contains("arguments") || !item["arguments"].is_string())
    return bad(i, " must have a 'call_id', a 'name' and 'arguments', which are JSON in a string");
  if (messages.empty() || messages.back()["role"] != "assistant")
    messages.push_back({{"role", "assistant"}, {"content", nullptr}});
  messages.back()["tool_calls"].push_back(function_call(id, name, item["arguments"]));
  return {};
}

Status append_output(const OrderedJson& item, size_t i, OrderedJson& messages) {
  const std::string id = string_at(item, "call_id");
  if (id.empty()) return bad(i, " must have a 'call_id'");
  auto output = text_parts(item.value("output", OrderedJson()), i);
  if (!output.ok()) return output.status();
  messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(*output)}});
  return {};
}

// It is for the chat template to show an earlier turn's reasoning. OpenAI's own comes as a summary,
// or encrypted, which cannot be read.
Status append_reasoning(const OrderedJson& item, size_t i, OrderedJson& messages) {
  std::string text;
  for (const char* name : {"content", "summary"}) {
    const OrderedJson parts = item.value(name, OrderedJson());
    if (parts.is_null() || !text.empty()) continue;
    auto read = text_parts(parts, i);
    if (!read.ok()) return read.status();
    if (!read->is_array()) return bad(i, str(".", name, " must be a list of parts"));
    for (const OrderedJson& part : *read) text += part["text"].get_ref<const std::string&>();
  }
  if (text.empty()) return {};
  messages.push_back({{"role", "assistant"}, {"content", nullptr}, {"reasoning_content", text}});
  return {};
}

struct ItemKind {
  const char* type;
  Status (*append)(const OrderedJson& item, size_t i, OrderedJson& messages);
};

constexpr ItemKind kItems[] = {
    {"message", append_message},     {"", append_message},  // a message may leave its type out
    {"function_call", append_call},  {"function_call_output", append_output},
    {"reasoning", append_reasoning},
};

Status append_item(const OrderedJson& item, size_t i, OrderedJson& messages) {
  if (!item.is_object()) return bad(i, " must be an object");
  const OrderedJson kind = item.value("type", OrderedJson());
  if (!kind.is_null() && !kind.is_string()) return bad(i, ".type must be a string");
  const std::string type = string_at(item, "type");
  for (const ItemKind& kind : kItems)
    if (type == kind.type) return kind.append(item, i, messages);
  return bad(i, str(" is of type '", type.substr(0, 40),
                    "'; message, function_call, function_call_output and reasoning are supported"));
}

}  // namespace

Status append_input(const OrderedJson& input, OrderedJson& messages) {
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
    return {};
  }
  if (!input.is_array() || input.empty())
    return Status::invalid("'input' must be a string or a non-empty list of items", kParam);
  for (size_t i = 0; i < input.size(); ++i)
    if (Status status = append_item(input[i], i, messages); !status.ok()) return status;
  if (messages.empty()) return Status::invalid("'input' has nothing that can be answered", kParam);
  return {};
}

}  // namespace mlxforge
