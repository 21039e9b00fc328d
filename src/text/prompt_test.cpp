#include "text/prompt.h"

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

std::string template_source(const std::string& name) {
  return read_file("reference/text_templates/" + name + ".jinja");
}

TEST(Prompt, ChatsAreEncodedAsTransformersDoes) {
  for (const auto& c : fixture_json("chats.json")) {
    SCOPED_TRACE(c["template"].get<std::string>() + " " + c["messages"].dump());
    Json config = {{"eos_token", c["eos_token"]}};
    if (!c["bos_token"].is_null()) config["bos_token"] = c["bos_token"];
    const Tokenizer tokenizer = from_json_fixture(c["tokenizer"], config);
    const ChatTemplate chat({.text = template_source(c["template"]), .tool_use = {}},
                            tokenizer.special_names());
    const ChatInput input = {.messages = c["messages"],
                             .tools = c.value("tools", OrderedJson()),
                             .documents = {},
                             .add_generation_prompt = c.value("add_generation_prompt", true),
                             .kwargs = c.value("kwargs", OrderedJson::object())};
    const Result<std::string> prompt = chat.render(input);
    const auto ids = encode_chat(tokenizer, chat, input);
    if (!c.contains("prompt")) {
      EXPECT_FALSE(prompt.ok()) << prompt.value();
      continue;
    }
    ASSERT_TRUE(prompt.ok()) << prompt.status().message;
    EXPECT_EQ(prompt.value(), c["prompt"].get<std::string>());
    Ids expected = c["ids"].get<Ids>();
    if (tokenizer.adds_bos() && expected[0] != tokenizer.bos_id())
      expected.insert(expected.begin(), *tokenizer.bos_id());
    EXPECT_EQ(ids.value(), expected);
  }
}

}  // namespace
}  // namespace mlxforge
