// Case 35: log-probabilities as OpenAI and vLLM shape them, streamed and whole.
#include <gtest/gtest.h>

#include "server/testing/sse_events.h"
#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

const std::string kHostile = "caf\xc3\xa9 \xf0\x9f\x98\x80\xff!";  // é, 😀, a byte that is no UTF-8

struct Rig : TestServer {
  explicit Rig(std::string answer) : TestServer([=](const Request&) { return say(answer); }) {
    engine->run(std::chrono::microseconds(50));
  }
};

OrderedJson post(TestServer& test, const std::string& path, const std::string& body) {
  const HttpAnswer answer = HttpClient(test.port).post(path, body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body.find("nan"), answer.body.npos);
  return OrderedJson::parse(answer.body);
}

std::string joined_bytes(const OrderedJson& content) {
  std::string out;
  for (const auto& entry : content)
    for (const int byte : entry["bytes"]) out += static_cast<char>(byte);
  return out;
}

TEST(Logprobs, ChatEntriesSpellTheText) {
  Rig test(kHostile);
  for (const int top : {0, 1, 5, 20}) {
    const OrderedJson reply =
        post(test, kChat, chat_body(str(R"("logprobs":true,"top_logprobs":)", top)));
    const OrderedJson& content = reply["choices"][0]["logprobs"]["content"];
    ASSERT_EQ(content.size(), kHostile.size());
    EXPECT_EQ(reply["usage"]["completion_tokens"], kHostile.size());
    EXPECT_EQ(joined_bytes(content), kHostile);
    for (const auto& entry : content) {
      EXPECT_EQ(entry["logprob"], -0.5);
      ASSERT_EQ(entry["top_logprobs"].size(), size_t(top));
      for (int i = 0; i < top; ++i) EXPECT_EQ(entry["top_logprobs"][i]["logprob"], -0.5 - 0.25 * i);
      if (top > 0) EXPECT_EQ(entry["top_logprobs"][0]["bytes"], entry["bytes"]);
    }
    EXPECT_EQ(content[0]["token"], "c");
    EXPECT_EQ(content[3]["token"], "\uFFFD");  // half of é
  }
  const OrderedJson alone = post(test, kChat, chat_body(R"("logprobs":true)"));
  EXPECT_EQ(alone["choices"][0]["logprobs"]["content"][0]["top_logprobs"], OrderedJson::array());
  const OrderedJson none = post(test, kChat, chat_body(R"("logprobs":false)"));
  EXPECT_TRUE(none["choices"][0]["logprobs"].is_null());
}

// One entry for each token at once, though its text be half a character or perhaps a stop string.
TEST(Logprobs, StreamedEntriesAreTheWholeAnswers) {
  Rig test(kHostile + "st" + "op!");
  for (const char* stop : {"null", "\"stop?\"", "\"stop!\""}) {
    const std::string fields = str(R"("logprobs":true,"top_logprobs":2,"stop":)", stop);
    const OrderedJson whole = post(test, kChat, chat_body(fields));
    const std::string sse =
        HttpClient(test.port).post(kChat, chat_body(fields + R"(,"stream":true)")).body;
    OrderedJson entries = OrderedJson::array();
    std::string text;
    for (const OrderedJson& event : chunks_of(sse)) {
      const auto& choice = event["choices"][0];
      text += choice["delta"].value("content", "");
      if (choice["logprobs"].is_null()) continue;
      for (const auto& entry : choice["logprobs"]["content"]) entries.push_back(entry);
    }
    EXPECT_EQ(entries, whole["choices"][0]["logprobs"]["content"]);
    EXPECT_EQ(entries.size(), whole["usage"]["completion_tokens"]);
    EXPECT_EQ(whole["choices"][0]["message"]["content"], OrderedJson(text));
  }
}

TEST(Logprobs, CompletionsHaveTheOlderShape) {
  Rig test("a\xc3\xa9z");
  const OrderedJson reply = post(test, kText, R"({"prompt":"xy","logprobs":2})");
  EXPECT_EQ(reply["choices"][0]["text"], "a\u00e9z");
  EXPECT_EQ(reply["choices"][0]["logprobs"],
            OrderedJson::parse(R"({"tokens":["a","bytes:\\xc3","bytes:\\xa9","z"],
                "token_logprobs":[-0.5,-0.5,-0.5,-0.5],
                "top_logprobs":[{"a":-0.5,"b":-0.75},{"bytes:\\xc3":-0.5,"bytes:\\xc4":-0.75},
                                {"bytes:\\xa9":-0.5,"bytes:\\xaa":-0.75},{"z":-0.5,"{":-0.75}],
                "text_offset":[0,1,1,2]})"));
  const OrderedJson none = post(test, kText, R"({"prompt":"xy","logprobs":0})");
  EXPECT_EQ(none["choices"][0]["logprobs"]["top_logprobs"][0], OrderedJson::parse(R"({"a":-0.5})"));
}

TEST(Logprobs, EchoBeginsWithThePrompt) {
  Rig test("z");
  const OrderedJson reply =
      post(test, kText, R"({"prompt":"xé","echo":true,"logprobs":1,"stop":"x"})");
  const OrderedJson& choice = reply["choices"][0];
  EXPECT_EQ(choice["text"], "xéz");  // the prompt is no match for a stop string
  EXPECT_EQ(choice["logprobs"],
            OrderedJson::parse(R"({"tokens":["x","bytes:\\xc3","bytes:\\xa9","z"],
                "token_logprobs":[null,-0.5,-0.5,-0.5],
                "top_logprobs":[null,{"bytes:\\xc3":-0.5},{"bytes:\\xa9":-0.5},{"z":-0.5}],
                "text_offset":[0,1,1,2]})"));
  EXPECT_EQ(reply["usage"]["completion_tokens"], 1);

  const OrderedJson plain = post(test, kText, R"({"prompt":"xy","echo":true,"n":2})");
  for (const auto& c : plain["choices"]) {
    EXPECT_EQ(c["text"], "xyz");
    EXPECT_TRUE(c["logprobs"].is_null());
  }
}

TEST(Logprobs, EchoWithoutTokens) {
  Rig test("never");
  for (const char* prompt : {R"("x")", R"("xy")", R"(["xy","abc"])"}) {
    const OrderedJson reply = post(
        test, kText, str(R"({"echo":true,"logprobs":0,"max_tokens":0,"prompt":)", prompt, "}"));
    const OrderedJson& choice = reply["choices"].back();
    const std::string text = choice["text"];
    EXPECT_EQ(choice["logprobs"]["tokens"].size(), text.size());
    EXPECT_TRUE(choice["logprobs"]["token_logprobs"][0].is_null());
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_EQ(reply["usage"]["completion_tokens"], 0);
  }
}

TEST(Logprobs, OfThePromptAsVllmShapesThem) {
  Rig test("z");
  const OrderedJson text = post(test, kText, R"({"prompt":"xy","prompt_logprobs":2})");
  EXPECT_EQ(text["choices"][0]["prompt_logprobs"],
            OrderedJson::parse(R"([null,{"121":{"logprob":-0.5,"rank":1,"decoded_token":"y"},
                                         "122":{"logprob":-0.75,"rank":2,"decoded_token":"z"}}])"));
  const OrderedJson chat = post(test, kChat, chat_body(R"("prompt_logprobs":0)"));
  EXPECT_EQ(chat["prompt_logprobs"].size(), chat["usage"]["prompt_tokens"]);
  EXPECT_TRUE(chat["prompt_logprobs"][0].is_null());
  EXPECT_EQ(chat["prompt_logprobs"][1].size(), 1u);
}

}  // namespace
}  // namespace mlxforge
