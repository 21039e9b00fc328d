#include "text/chat_template.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"

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

ChatTemplate compile(const std::string& source, TemplateNames names = {}) {
  return ChatTemplate({.text = source, .tool_use = {}}, std::move(names));
}

std::string load_error(const std::string& source) {
  try {
    compile(source);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

OrderedJson turn(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

TEST(ChatTemplate, KnowsTheDate) {  // case 24
  const auto today = [] {
    const std::time_t now = std::time(nullptr);
    char text[64];
    return std::string(text, std::strftime(text, sizeof text, "%d %b %Y", std::localtime(&now)));
  };
  const std::string before = today();
  const std::string shown = compile("{{ strftime_now('%d %b %Y') }}").render({}).value();
  EXPECT_TRUE(shown == before || shown == today()) << shown;
}

TEST(ChatTemplate, WhatItDoesNotKnowIsRefusedAtLoad) {  // case 24
  EXPECT_NE(load_error("{% if false %}{{ 'x' | frobnicate }}{% endif %}").find("frobnicate"),
            std::string::npos);
  EXPECT_NE(load_error("{% macro m() %}{{ 1 is frobnicated }}{% endmacro %}").find("frobnicated"),
            std::string::npos);
  EXPECT_NE(load_error("{% frob %}"), "");
  EXPECT_NE(load_error("{{ 'x' "), "");
  EXPECT_NE(load_error("{% for x in y %}"), "");
  EXPECT_NE(load_error("\xFF"), "");
  EXPECT_NE(load_error("{{ " + std::string(100'000, '(') + " }}"), "");
}

TEST(ChatTemplate, ItsOwnRefusalReachesTheClientWordForWord) {
  const Status status =
      compile("{{ raise_exception('Conversation roles must <alternate>') }}").render({}).status();
  EXPECT_EQ(status.code, Code::invalid_request);
  EXPECT_EQ(status.message, "Conversation roles must <alternate>");
  EXPECT_EQ(compile("{{ messages.x.y }}").render({}).status().code, Code::invalid_request);
}

TEST(ChatTemplate, ASystemMessageIsFoldedWhereItIsRefused) {
  const std::string source = template_source("no_system");
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view line) { logged += std::string(line) + "\n"; });
  const ChatTemplate chat = compile(source);
  compile(template_source("chatml"));
  set_log_sink([](LogLevel, std::string_view) {});
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1) << logged;
  EXPECT_NE(logged.find("system"), std::string::npos);

  const auto render = [&](const OrderedJson& messages) {
    return chat.render({.messages = messages, .add_generation_prompt = false}).value();
  };
  EXPECT_EQ(render(OrderedJson::array({turn("system", "s"), turn("user", "u")})),
            render(OrderedJson::array({turn("user", "s\n\nu")})));
  EXPECT_EQ(render(OrderedJson::array({turn("system", "s")})),
            render(OrderedJson::array({turn("user", "s")})));
}

TEST(ChatTemplate, ToolsChooseTheirOwnTemplate) {
  const ChatTemplate chat({.text = "plain", .tool_use = "tools"}, {});
  ChatInput input;
  EXPECT_EQ(chat.render(input).value(), "plain");
  input.tools = OrderedJson::array();
  EXPECT_EQ(chat.render(input).value(), "plain");
  input.tools.push_back({{"type", "function"}});
  EXPECT_EQ(chat.render(input).value(), "tools");
}

TEST(ChatTemplate, EmptyContentStandsInForNone) {  // case 31
  OrderedJson messages = OrderedJson::array({turn("assistant", "x")});
  messages[0]["content"] = nullptr;
  EXPECT_EQ(compile("{% for m in messages %}[{{ m.role + m.content }}]{% endfor %}")
                .render({.messages = messages})
                .value(),
            "[assistant]");
  const char* two_kinds =
      "{% if messages[0].content is none %}call{% else %}{{ 'x' + messages[0].content }}{% endif "
      "%}";
  EXPECT_EQ(compile(two_kinds).render({.messages = messages}).value(), "call");
  EXPECT_EQ(compile("{{ messages[0].content is defined }}").render({.messages = messages}).value(),
            "False");
}

TEST(ChatTemplate, ReasoningGoesByThreeNames) {
  const ChatTemplate chat =
      compile("{{ messages[0].reasoning_content }},{{ messages[0].thinking }}");
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const OrderedJson message = {{"role", "assistant"}, {name, "why"}};
    EXPECT_EQ(chat.render({.messages = OrderedJson::array({message})}).value(), "why,why");
  }
}

TEST(ChatTemplate, RecursionEndsInAnError) {  // case 47
  EXPECT_FALSE(compile("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").render({}).ok());
  const char* nested =
      "{% set n = namespace(v=[]) %}{% for i in range(300) %}{% set n.v = [n.v] %}{% endfor %}"
      "{{ n.v | tojson }}";
  EXPECT_FALSE(compile(nested).render({}).ok());
  ChatInput input;
  input.messages = OrderedJson::parse(std::string(200'000, '[') + std::string(200'000, ']'));
  EXPECT_EQ(compile("{{ messages }}").render(input).status().code, Code::invalid_request);
  input.messages = OrderedJson::parse(std::string(90, '[') + std::string(90, ']'));
  EXPECT_EQ(compile("{{ messages | tojson }}").render(input).value(),
            std::string(90, '[') + std::string(90, ']'));
}

// --- where a model keeps it ---------------------------------------------------------------------

TEST(TemplateSource, ComesFromTheFileThenTheConfig) {
  ModelFiles files;
  EXPECT_FALSE(TemplateSource::of(files));
  files.tokenizer_config = {{"chat_template", nullptr}};
  EXPECT_FALSE(TemplateSource::of(files));
  files.tokenizer_config = {{"chat_template", "text"}};
  EXPECT_EQ(TemplateSource::of(files)->text, "text");
  files.tokenizer_config["chat_template"] = {{{"name", "tool_use"}, {"template", "t"}},
                                             {{"name", "default"}, {"template", "d"}}};
  EXPECT_EQ(TemplateSource::of(files)->text, "d");
  EXPECT_EQ(TemplateSource::of(files)->tool_use, "t");
  files.tokenizer_config["chat_template"] = Json::array({{{"name", "rag"}, {"template", "r"}}});
  EXPECT_THROW(TemplateSource::of(files), Error);
  files.tokenizer_config["chat_template"] = 5;
  EXPECT_THROW(TemplateSource::of(files), Error);
  files.chat_template = "file";
  EXPECT_EQ(TemplateSource::of(files)->text, "file");
}

TEST(TemplateSource, ComesFromTheGguf) {
  ModelFiles files = open_model("build/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto source = TemplateSource::of(files);
  ASSERT_TRUE(source);
  const Tokenizer tokenizer = Tokenizer::of(files);
  const ChatTemplate chat(*source, tokenizer.special_names());
  const std::string prompt =
      chat.render({.messages = OrderedJson::array({turn("user", "hi")})}).value();
  EXPECT_TRUE(prompt.ends_with("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"))
      << prompt;
}

}  // namespace
}  // namespace mlxforge
