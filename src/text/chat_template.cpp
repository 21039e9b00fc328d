#include "text/chat_template.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "rust/bridge.h"

namespace mlxforge {
namespace {

// Below the parser's own limit on the Rust side, and shallow enough to walk by recursion.
constexpr int kMaxDepth = 100;

bool nests_deeper_than(const OrderedJson& json, int limit) {
  std::vector<std::pair<const OrderedJson*, int>> open = {{&json, 1}};
  while (!open.empty()) {
    const auto [value, depth] = open.back();
    open.pop_back();
    if (!value->is_structured()) continue;
    if (depth > limit) return true;
    for (const OrderedJson& inner : *value) open.emplace_back(&inner, depth + 1);
  }
  return false;
}

std::string content_of(const OrderedJson& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

bool has_role(const OrderedJson& message, const char* role) {
  return message.is_object() && message.contains("role") && message["role"] == role;
}

// [system, user, ...] -> [user, ...], the system text first in the user's.
void fold_system(OrderedJson& messages) {
  if (messages.empty() || !has_role(messages[0], "system")) return;
  if (messages.size() < 2 || !has_role(messages[1], "user")) {
    messages[0]["role"] = "user";
    return;
  }
  messages[1]["content"] = content_of(messages[0]) + "\n\n" + content_of(messages[1]);
  messages.erase(messages.begin());
}

// A field that is null is absent, as in transformers: templates would print "None".
void drop_nulls(OrderedJson& message) {
  if (!message.is_object()) return;
  for (auto field = message.begin(); field != message.end();)
    field = field.value().is_null() ? message.erase(field) : std::next(field);
}

// A turn's reasoning goes by three names; templates read one of the first two (as in transformers).
void alias_reasoning(OrderedJson& message) {
  if (!message.is_object()) return;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    if (!message.contains(name)) continue;
    const OrderedJson reasoning = message[name];
    if (!message.contains("thinking")) message["thinking"] = reasoning;
    message["reasoning_content"] = reasoning;
    return;
  }
}

// Gives turns without content this one; false when there are none. Many a template reads the
// content of every turn, though one that calls tools may have none.
bool fill_content(OrderedJson& messages, const OrderedJson& content) {
  bool filled = false;
  for (OrderedJson& message : messages) {
    if (!message.is_object() || !message.value("content", OrderedJson()).is_null()) continue;
    message["content"] = content;
    filled = true;
  }
  return filled;
}

OrderedJson message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

// The named templates of tokenizer_config.json: [{"name", "template"}].
TemplateSource named_templates(const Json& list) {
  TemplateSource source;
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("template") || !entry["template"].is_string())
      fail("text", "expected {\"name\", \"template\"} in chat_template's list, got ", entry.dump());
    if (entry.value("name", "") == "default") source.text = entry["template"];
    if (entry.value("name", "") == "tool_use") source.tool_use = entry["template"];
  }
  if (source.text.empty())
    fail("text", "expected a chat template named default in tokenizer_config.json, got ",
         list.size(), " others; choose one with --chat-template");
  return source;
}

}  // namespace

std::optional<TemplateSource> TemplateSource::of(const ModelFiles& files) {
  if (files.chat_template) return TemplateSource{.text = *files.chat_template, .tool_use = {}};
  if (files.gguf) {
    if (!files.gguf->has("tokenizer.chat_template")) return std::nullopt;
    const auto text = [&](std::string_view key) {
      return std::string(files.gguf->get_or<std::string_view>(key, ""));
    };
    return TemplateSource{.text = text("tokenizer.chat_template"),
                          .tool_use = text("tokenizer.chat_template.tool_use")};
  }
  if (!files.tokenizer_config.is_object() || !files.tokenizer_config.contains("chat_template"))
    return std::nullopt;
  const Json& entry = files.tokenizer_config["chat_template"];
  if (entry.is_null()) return std::nullopt;
  if (entry.is_string()) return TemplateSource{.text = entry, .tool_use = {}};
  if (entry.is_array()) return named_templates(entry);
  fail("text", "expected a string or a list as chat_template in tokenizer_config.json, got ",
       entry.type_name());
}

struct ChatTemplate::Impl {
  TemplateSource source;
  TemplateNames names;
  bool folds = false;
  rust::Box<rs::Template> main;
  std::optional<rust::Box<rs::Template>> tool_use;

  Impl(TemplateSource source_in, TemplateNames names_in)
      : source(std::move(source_in)), names(std::move(names_in)), main(compile(source.text)) {
    if (!source.tool_use.empty()) tool_use = compile(source.tool_use);
  }
  static rust::Box<rs::Template> compile(const std::string& text) {
    return checked("text", "the chat template is unusable (--chat-template gives another)",
                   [&] { return rs::compile_template(text); });
  }
  Result<std::string> render(const ChatInput& input) const;
  OrderedJson context(const ChatInput& input) const;
  Result<std::string> render(bool with_tools, const OrderedJson& context) const;
};

OrderedJson ChatTemplate::Impl::context(const ChatInput& input) const {
  OrderedJson out = OrderedJson::object();
  for (const auto& [name, text] : names) out[name] = text;
  for (const auto& [name, value] : input.kwargs.items()) out[name] = value;
  out["tools"] = input.tools;
  out["documents"] = input.documents;
  out["add_generation_prompt"] = input.add_generation_prompt;
  OrderedJson& messages = out["messages"] = input.messages;
  for (OrderedJson& message : messages) {
    drop_nulls(message);
    alias_reasoning(message);
  }
  if (folds) fold_system(messages);
  return out;
}

Result<std::string> ChatTemplate::Impl::render(const ChatInput& input) const {
  for (const OrderedJson* part : {&input.messages, &input.tools, &input.documents, &input.kwargs}) {
    if (nests_deeper_than(*part, kMaxDepth))
      return Status::invalid(str("expected JSON nested at most ", kMaxDepth, " deep"), "messages");
  }
  const bool with_tools = input.tools.is_array() && !input.tools.empty();
  OrderedJson variables = context(input);
  Result<std::string> prompt = render(with_tools, variables);
  for (const OrderedJson& content : {OrderedJson(nullptr), OrderedJson("")}) {
    if (prompt.ok() || !fill_content(variables["messages"], content)) break;
    Result<std::string> filled = render(with_tools, variables);
    if (filled.ok()) return filled;
  }
  return prompt;
}

Result<std::string> ChatTemplate::Impl::render(bool with_tools, const OrderedJson& context) const {
  const rs::Template& chosen = with_tools && tool_use ? **tool_use : *main;
  try {
    return std::string(chosen.render(context.dump()));
  } catch (const rust::Error& error) {
    return Status::invalid(error.what(), "messages");
  } catch (const OrderedJson::exception&) {  // dump: a string is not UTF-8
    return Status::invalid("expected messages in UTF-8", "messages");
  }
}

ChatTemplate::ChatTemplate(TemplateSource source, TemplateNames names)
    : impl_(std::make_unique<Impl>(std::move(source), std::move(names))) {
  const OrderedJson system = message("system", "a"), user = message("user", "b");
  const bool takes_both = render({.messages = OrderedJson::array({system, user})}).ok();
  if (takes_both || !render({.messages = OrderedJson::array({user})}).ok()) return;
  impl_->folds = true;
  log_info("the chat template refuses a system message: it becomes part of the first user turn");
}

std::vector<std::string> ChatTemplate::texts() const {
  std::vector<std::string> out = {impl_->source.text, impl_->source.tool_use};
  for (const auto& [name, text] : impl_->names) out.push_back(text);
  return out;
}

ChatTemplate ChatTemplate::rewritten(
    const std::function<std::string(const std::string&)>& rewrite) const {
  TemplateSource source;
  source.text = rewrite(impl_->source.text);
  source.tool_use = rewrite(impl_->source.tool_use);
  TemplateNames names = impl_->names;
  for (auto& [name, text] : names) text = rewrite(text);
  auto impl = std::make_unique<Impl>(std::move(source), std::move(names));
  impl->folds = impl_->folds;
  return ChatTemplate(std::move(impl));
}

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<std::string> ChatTemplate::render(const ChatInput& input) const {
  return impl_->render(input);
}

bool ChatTemplate::folds_system() const { return impl_->folds; }

}  // namespace mlxforge
