#include "text/chat_template.h"

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

TEST(ChatTemplate, RendersAsTransformersDoes) {  // cases 23, 24
  for (const auto& c : fixture_json("jinja.json")) {
    SCOPED_TRACE(c["template"].get<std::string>());
    const ChatInput input = {.messages = c["messages"],
                             .tools = c["tools"],
                             .documents = {},
                             .add_generation_prompt = c["add_generation_prompt"],
                             .kwargs = c["kwargs"]};
    const std::string source = c["template"];
    try {
      const Result<std::string> prompt =
          ChatTemplate({.text = source, .tool_use = {}}, {}).render(input);
      EXPECT_EQ(prompt.ok(), c.contains("prompt"))
          << (prompt.ok() ? prompt.value() : prompt.status().message);
      if (prompt.ok() && c.contains("prompt"))
        EXPECT_EQ(prompt.value(), c["prompt"].get<std::string>());
      if (!prompt.ok() && source.find("raise_exception") != source.npos)
        EXPECT_EQ(prompt.status().message, c["error"].get<std::string>());
    } catch (const Error& e) {
      EXPECT_TRUE(c.contains("error")) << e.what();
    }
  }
}

}  // namespace
}  // namespace mlxforge
