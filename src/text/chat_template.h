// A model's chat template (Jinja), compiled at load with Hugging Face's settings: trim_blocks,
// lstrip_blocks, no trailing newline kept, loop controls, tojson as json.dumps, raise_exception,
// strftime_now, Python's string and dict methods. bos_token, eos_token, ... are variables.
//
// Threads: const methods may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "files/model_folder.h"

namespace mlxforge {

using OrderedJson = nlohmann::ordered_json;  // templates print objects in the caller's order

// What a chat request hands to the template.
struct ChatInput {
  OrderedJson messages = OrderedJson::array();  // {"role", "content" (a string), "tool_calls", ...}
  OrderedJson tools;                            // an array, or null
  OrderedJson documents;                        // an array, or null
  bool add_generation_prompt = true;
  // The prompt ends with the last message's text, so that the answer goes on with it. REQUIRES a
  // string as its content. For encode_chat.
  bool continue_final_message = false;
  OrderedJson kwargs = OrderedJson::object();  // further variables (chat_template_kwargs)
};

// Jinja source. `tool_use`, where the model has one, is taken for requests with tools.
struct TemplateSource {
  std::string text;
  std::string tool_use;  // empty: `text` serves all

  // chat_template.jinja, else tokenizer_config.json's chat_template (a string, or a list of named
  // ones), else the GGUF's; nothing when the model has none.
  static std::optional<TemplateSource> of(const ModelFiles& files);
};

// The variables bos_token, eos_token, ...: name -> text of the token (Tokenizer::special_names).
using TemplateNames = std::map<std::string, std::string>;

class ChatTemplate {
 public:
  // Throws Error for a template that does not compile or uses an unknown filter or test. Renders
  // two short probes: where only the one with a system message is refused, a leading system message
  // is from then on folded into the first user turn (one log line says so).
  ChatTemplate(TemplateSource source, TemplateNames names);
  // Everything that the template writes comes from these: its sources and the names' values.
  std::vector<std::string> texts() const;
  // The same template with other texts, `rewrite` of each in that order. Throws Error when it no
  // longer compiles.
  ChatTemplate rewritten(const std::function<std::string(const std::string&)>& rewrite) const;
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The prompt as text. A failure is the request's (400): the template's own raise_exception
  // message, or why this input cannot be rendered, also when it nests too deeply.
  Result<std::string> render(const ChatInput& input) const;

  bool folds_system() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlxforge
