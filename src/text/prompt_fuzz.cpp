// fuzz_prompt: whatever messages say, the control tokens are the template's, and the ids spell the
// prompt. The input is message contents, one a line. Run it in the source folder.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

std::string read(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(std::string_view input) {
  static const Tokenizer tokenizer =
      Tokenizer::from_json(read("reference/fixtures_text/tokenizers/smollm.json"));
  static const ChatTemplate chat(
      {.text = read("reference/text_templates/hermes.jinja"), .tool_use = {}}, {});
  ChatInput chat_input;
  for (bool user = true; !input.empty(); user = !user) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    chat_input.messages.push_back(
        {{"role", user ? "user" : "assistant"}, {"content", valid_utf8(line)}});
  }
  if (chat_input.messages.empty()) return;
  const auto ids = encode_chat(tokenizer, chat, chat_input);
  check(ids.ok(), "refused: ", ids.ok() ? "" : ids.status().message);
  std::string spelt;
  for (const int32_t id : ids.value()) spelt += tokenizer.token_bytes(id);
  check(spelt == chat.render(chat_input).value(), "the ids spell another prompt");
  const auto count = [&](const char* token) {
    return std::count(ids.value().begin(), ids.value().end(), tokenizer.token_to_id(token).value());
  };
  const auto turns = static_cast<ptrdiff_t>(chat_input.messages.size());
  check(count("<|im_start|>") == turns + 1, "turns begin");
  check(count("<|im_end|>") == turns, "turns end");
}

}  // namespace
}  // namespace mlxforge

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mlxforge::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
