// Plain prompts, and prompts that are too long, too deep, or no longer wanted.
#include <gtest/gtest.h>

#include <algorithm>

#include "text/fixtures_test.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

using namespace testing_text;

ChatTemplate template_of(const Tokenizer& tokenizer, const std::string& name) {
  return {{.text = template_source(name), .tool_use = {}}, tokenizer.special_names()};
}

OrderedJson user(const std::string& content) {
  return OrderedJson::array({{{"role", "user"}, {"content", content}}});
}

TEST(PlainPrompt, GetsTheTokenizersBosAndNoOtherControlToken) {
  const Tokenizer llama = from_json_fixture("llama3", {{"bos_token", "<|begin_of_text|>"}});
  const Ids ids = encode_text(llama, "<|begin_of_text|>hi<|eot_id|>").value();
  EXPECT_EQ(ids.front(), llama.bos_id());
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return llama.is_special(id); }),
            1);
  EXPECT_EQ(llama.decode(ids), "<|begin_of_text|>hi<|eot_id|>");
  EXPECT_EQ(encode_text(llama, "").value(), Ids{*llama.bos_id()});
  EXPECT_EQ(encode_text(from_json_fixture("smollm"), "").value(), Ids{});
}

TEST(ChatPrompt, DeepInputIsRefused) {  // case 47
  const Tokenizer tokenizer = from_json_fixture("smollm");
  const ChatTemplate chat = template_of(tokenizer, "hermes");
  for (const size_t depth : {3000, 200'000}) {
    ChatInput input = {.messages = user("x")};
    input.tools = OrderedJson::parse(std::string(depth, '[') + std::string(depth, ']'));
    EXPECT_EQ(encode_chat(tokenizer, chat, input).status().code, Code::invalid_request);
  }
}

TEST(Prompt, WhatCannotFitIsRefusedUnread) {
  const Tokenizer tokenizer = from_json_fixture("smollm");
  const ChatTemplate chat = template_of(tokenizer, "chatml");
  std::string most;  // 99 tokens or more
  while (tokenizer.fewest_tokens(most + "q") < 100) most += 'q';
  EXPECT_TRUE(encode_text(tokenizer, most, {.context = 100}).ok());
  EXPECT_TRUE(encode_text(tokenizer, most + "q", {.context = 100, .answer = 0}).ok());
  EXPECT_TRUE(encode_whole(tokenizer, most, {.context = 100}).ok());
  EXPECT_EQ(encode_whole(tokenizer, most + "q", {.context = 100}).status().code,
            Code::context_exceeded);
  const Status status = encode_text(tokenizer, most + "q", {.context = 100}).status();
  EXPECT_EQ(status.code, Code::context_exceeded);
  EXPECT_NE(status.message.find("context is 100 tokens"), std::string::npos) << status.message;
  EXPECT_NE(status.message.find(std::to_string(most.size() + 1) + " bytes, at least 100 tokens"),
            std::string::npos);
  EXPECT_EQ(encode_chat(tokenizer, chat, {.messages = user(most)}, {.context = 100}).status().code,
            Code::context_exceeded);
}

TEST(Prompt, WhatNobodyWantsAnyMoreIsAFailure) {
  const Tokenizer tokenizer = from_json_fixture("smollm");
  const ChatTemplate chat = template_of(tokenizer, "chatml");
  CancelFlag cancel;
  EXPECT_TRUE(encode_text(tokenizer, "hello", {.cancel = cancel}).ok());
  cancel.set();
  EXPECT_EQ(encode_text(tokenizer, "hello", {.cancel = cancel}).status().code, Code::unavailable);
  EXPECT_EQ(encode_whole(tokenizer, "hello", {.cancel = cancel}).status().code, Code::unavailable);
  EXPECT_EQ(
      encode_chat(tokenizer, chat, {.messages = user("hello")}, {.cancel = cancel}).status().code,
      Code::unavailable);
}

}  // namespace
}  // namespace mlxforge
