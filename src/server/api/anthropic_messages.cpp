#include "server/api/anthropic_messages.h"

#include "server/messages.h"

namespace mlxforge {
namespace {

// Where in the request something stands, for messages of failures.
struct Place {
  std::string name;
  const char* param;

  Status bad(const std::string& what) const { return Status::invalid(name + what, param); }
};

// A string, or text blocks joined in their order.
Result<std::string> text_of(const OrderedJson& content, const Place& place) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return place.bad(" must be a string or a list of blocks");
  std::string text;
  for (const OrderedJson& block : content) {
    if (!block.is_object() || string_at(block, "type") != "text")
      return place.bad(" has a block that is not of type 'text'; no other is supported here");
    if (!block.contains("text") || !block["text"].is_string())
      return place.bad(" has a text block without a string 'text'");
    text += block["text"].get_ref<const std::string&>();
  }
  return text;
}

OrderedJson text_part(const OrderedJson& block) {
  return {{"type", "text"}, {"text", block.value("text", OrderedJson())}};
}

// The blocks of one turn of the user: results of tools become messages of their own.
class UserTurn {
 public:
  UserTurn(OrderedJson& out, const Place& place) : out_(out), place_(place) {}

  Status add(const OrderedJson& block) {
    const std::string type = string_at(block, "type");
    if (type == "text") {
      parts_.push_back(text_part(block));
      return {};
    }
    if (type == "tool_result") return add_result(block);
    return place_.bad(str(".content has a block of type '", type.substr(0, 40),
                          "'; a user's may be text and tool_result"));
  }

  void end() {
    if (!parts_.empty()) out_.push_back({{"role", "user"}, {"content", std::move(parts_)}});
    parts_ = OrderedJson::array();
  }

 private:
  Status add_result(const OrderedJson& block) {
    const std::string id = string_at(block, "tool_use_id");
    if (id.empty()) return place_.bad(".content has a tool_result without a 'tool_use_id'");
    const auto content = block.find("content");
    const bool missing = content == block.end() || content->is_null();
    auto text = missing ? std::string() : text_of(*content, {place_.name + ".content", "messages"});
    if (!text.ok()) return text.status();
    end();
    out_.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(*text)}});
    if (block.contains("is_error")) out_.back()["is_error"] = block["is_error"];
    return {};
  }

  OrderedJson& out_;
  const Place& place_;
  OrderedJson parts_ = OrderedJson::array();
};

// The blocks of one turn of the assistant, which stay one message.
class AssistantTurn {
 public:
  AssistantTurn(OrderedJson& out, const Place& place) : out_(out), place_(place) {}

  Status add(const OrderedJson& block) {
    const std::string type = string_at(block, "type");
    if (type == "text") {
      parts_.push_back(text_part(block));
    } else if (type == "tool_use") {
      return add_call(block);
    } else if (type == "thinking") {
      if (!block.contains("thinking") || !block["thinking"].is_string())
        return place_.bad(".content has a thinking block without a string 'thinking'");
      thinking_ += block["thinking"].get_ref<const std::string&>();
    } else if (type != "redacted_thinking") {  // which only its author could read
      return place_.bad(str(".content has a block of type '", type.substr(0, 40),
                            "'; an assistant's may be text, tool_use and thinking"));
    }
    return {};
  }

  void end() {
    OrderedJson message = {{"role", "assistant"}, {"content", nullptr}};
    if (!parts_.empty()) message["content"] = std::move(parts_);
    if (!thinking_.empty()) message["reasoning_content"] = thinking_;
    if (!calls_.empty()) message["tool_calls"] = std::move(calls_);
    out_.push_back(std::move(message));
  }

 private:
  Status add_call(const OrderedJson& block) {
    const std::string id = string_at(block, "id"), name = string_at(block, "name");
    if (id.empty() || name.empty() || !block.contains("input") || !block["input"].is_object())
      return place_.bad(".content has a tool_use without an 'id', a 'name' or an object 'input'");
    calls_.push_back(function_call(id, name, block["input"]));
    return {};
  }

  OrderedJson& out_;
  const Place& place_;
  OrderedJson parts_ = OrderedJson::array(), calls_ = OrderedJson::array();
  std::string thinking_;
};

template <class Turn>
Status add_turn(const OrderedJson& content, OrderedJson& out, const Place& place) {
  Turn turn(out, place);
  for (const OrderedJson& block : content) {
    if (!block.is_object()) return place.bad(".content must be a string or a list of blocks");
    if (Status status = turn.add(block); !status.ok()) return status;
  }
  turn.end();
  return {};
}

Status add_message(const OrderedJson& message, OrderedJson& out, const Place& place) {
  const std::string role = message.is_object() ? string_at(message, "role") : "";
  if (role != "user" && role != "assistant")
    return place.bad(" must have the role user or assistant; 'system' is a field of the request");
  const auto content = message.find("content");
  if (content == message.end() || (!content->is_string() && !content->is_array()) ||
      content->empty())
    return place.bad(".content must be a string or a list of blocks");
  if (content->is_string()) {
    out.push_back({{"role", role}, {"content", *content}});
    return {};
  }
  return role == "user" ? add_turn<UserTurn>(*content, out, place)
                        : add_turn<AssistantTurn>(*content, out, place);
}

}  // namespace

Result<OrderedJson> openai_messages(const OrderedJson& system, const OrderedJson& messages) {
  OrderedJson out = OrderedJson::array();
  if (!system.is_null()) {
    auto text = text_of(system, {"'system'", "system"});
    if (!text.ok()) return text.status();
    out.push_back({{"role", "system"}, {"content", std::move(*text)}});
  }
  if (!messages.is_array() || messages.empty())
    return Status::invalid("'messages' must be a non-empty list of messages", "messages");
  for (size_t i = 0; i < messages.size(); ++i)
    if (Status status = add_message(messages[i], out, {str("messages[", i, "]"), "messages"});
        !status.ok())
      return status;
  return out;
}

}  // namespace mlxforge
