// Several choices and several prompts to a request, echo, and log-probabilities: what goes to the
// engine, and what its events become.
#include <gtest/gtest.h>

#include "server/api/api.h"
#include "server/testing/sse_events.h"
#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

// Choice c of a prompt says "<prompt>c". To the fake engine greater digits are likelier.
Script script(const Request& request) {
  Script out;
  for (const int32_t id : request.prompt) out.steps.push_back({id});
  out.steps.push_back({static_cast<int32_t>('0' + request.sampling.choice)});
  return out;
}

struct Rig {
  explicit Rig(FakeEngine::Author author = script, FakeEngine::Limits limits = {})
      : test(std::move(author), {}, limits) {
    test.engine->run(std::chrono::microseconds(50));
  }
  TestServer test;
  OrderedJson post(const std::string& path, const std::string& body, int status = 200) {
    const HttpAnswer answer = HttpClient(test.port).post(path, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    return OrderedJson::parse(answer.body);
  }
  OrderedJson complete(const std::string& fields, int status = 200) {
    return post(kText, "{" + fields + "}", status);
  }
  OrderedJson chat(const std::string& fields, int status = 200) {
    return post(kChat, chat_body(fields), status);
  }
  std::vector<OrderedJson> stream(const std::string& path, const std::string& body) {
    return chunks_of(HttpClient(test.port).post(path, body).body);
  }
};

TEST(Choices, OfEachPromptInOpenAisOrder) {
  Rig rig;
  const OrderedJson reply = rig.complete(R"("prompt":["ab","c"],"n":3)");
  ASSERT_EQ(reply["choices"].size(), 6u);
  const char* texts[] = {"ab0", "ab1", "ab2", "c0", "c1", "c2"};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(reply["choices"][i]["index"], i);
    EXPECT_EQ(reply["choices"][i]["text"], texts[i]);
    EXPECT_EQ(reply["choices"][i]["finish_reason"], "stop");
    EXPECT_TRUE(reply["choices"][i]["logprobs"].is_null());
  }
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 3 * 3 + 3 * 2);
  EXPECT_EQ(reply["usage"]["total_tokens"], 18);
  EXPECT_EQ(reply["timings"]["predicted_n"], 15);
  EXPECT_EQ(reply["timings"]["prompt_n"], 3);
}

TEST(Choices, PromptsOfEveryKind) {
  Rig rig;
  for (const char* prompts : {R"(["ab","c"])", "[[97,98],[99]]", R"(["ab",[99]])"}) {
    const OrderedJson reply = rig.complete(str("\"prompt\":", prompts));
    ASSERT_EQ(reply["choices"].size(), 2u);
    EXPECT_EQ(reply["choices"][0]["text"], "ab0");
    EXPECT_EQ(reply["choices"][1]["text"], "c0");
  }
}

TEST(Choices, StreamsInterleaveAndEachEndsOnce) {
  Rig rig;
  for (const bool chat : {true, false}) {
    const std::string fields = R"("n":3,"stream":true,"stream_options":{"include_usage":true})";
    auto events = chat ? rig.stream(kChat, chat_body(fields))
                       : rig.stream(kText, R"({"prompt":"ab",)" + fields + "}");
    EXPECT_EQ(events.back()["choices"].size(), 0u);
    EXPECT_EQ(events.back()["usage"]["completion_tokens"],
              events.back()["usage"]["prompt_tokens"].get<int>() * 3 + 3);
    events.pop_back();
    std::string texts[3];
    int ends[3] = {}, roles[3] = {};
    for (const auto& event : events) {
      ASSERT_EQ(event["choices"].size(), 1u);
      const auto& choice = event["choices"][0];
      const int index = choice["index"];
      EXPECT_EQ(ends[index], 0) << "a chunk after the last";
      ends[index] += !choice["finish_reason"].is_null();
      if (chat) {
        roles[index] += choice["delta"].contains("role");
        texts[index] += choice["delta"].value("content", "");
      } else {
        texts[index] += choice["text"].get<std::string>();
      }
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ends[i], 1);
      EXPECT_EQ(roles[i], chat);
      EXPECT_TRUE(texts[i].ends_with(str(chat ? "[assistant]" : "ab", i))) << texts[i];
    }
  }
}

TEST(Choices, AStopStringEndsItsChoiceAlone) {
  Rig rig([](const Request& request) {
    return request.sampling.choice == 1 ? endless("a#") : say("abc");
  });
  for (const bool streaming : {false, true}) {
    const std::string body =
        str(R"({"prompt":"x","n":3,"stop":"#","stream":)", streaming ? "true" : "false", "}");
    const HttpAnswer answer = HttpClient(rig.test.port).post(kText, body);
    if (!streaming) {
      const OrderedJson reply = OrderedJson::parse(answer.body);
      EXPECT_EQ(reply["choices"][0]["text"], "abc");
      EXPECT_EQ(reply["choices"][1]["text"], "a");
      EXPECT_EQ(reply["choices"][2]["text"], "abc");
    }
    EXPECT_TRUE(eventually([&] { return rig.test.engine->active() == 0; }));
  }
}

TEST(Choices, LeavingCancelsEveryChoiceOfEveryPrompt) {
  Rig rig([](const Request&) { return endless(); }, {.slots = 64});
  TestServer& test = rig.test;
  for (const bool streaming : {false, true}) {
    HttpClient client(test.port);
    client.send_post(kText, str(R"({"prompt":["a","b","c"],"n":4,"stream":)",
                                streaming ? "true" : "false", "}"));
    ASSERT_TRUE(eventually([&] { return test.engine->active() == 12; }));
    client.close();
    EXPECT_TRUE(eventually([&] { return test.engine->active() == 0; }));
  }
  test.expect_alive();
}

TEST(Choices, WhenOnePromptIsRefusedNoneRuns) {
  Rig rig([](const Request&) { return endless(); }, {.max_ctx = 5, .slots = 64});
  TestServer& test = rig.test;
  const HttpAnswer answer = HttpClient(test.port).post(kText, R"({"prompt":["a","b","too long"]})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(eventually([&] { return test.engine->active() == 0; }));
}

TEST(Choices, BestOfKeepsTheLikeliest) {
  Rig rig;
  const OrderedJson reply = rig.complete(R"("prompt":"a","n":2,"best_of":5)");
  ASSERT_EQ(reply["choices"].size(), 2u);
  EXPECT_EQ(reply["choices"][0]["text"], "a4");  // '4' is the likeliest of '0'..'4'
  EXPECT_EQ(reply["choices"][1]["text"], "a3");
  EXPECT_EQ(reply["choices"][1]["index"], 1);
  EXPECT_TRUE(reply["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(reply["usage"]["completion_tokens"], 10);
}

TEST(Choices, BadCombinationsAreRefused) {
  Rig rig;
  const std::pair<const char*, const char*> cases[] = {
      {R"("n":0)", "n"},
      {R"("n":129)", "n"},
      {R"("n":3,"best_of":2)", "best_of"},
      {R"("best_of":2,"stream":true)", "best_of"},
      {R"("best_of":0)", "best_of"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_completion_tokens":0)", "max_completion_tokens"},
      {R"("max_tokens":0,"echo":true,"n":2)", "n"},
      {R"("max_tokens":0,"echo":true,"best_of":3)", "best_of"},
      {R"("logprobs":21)", "logprobs"},
      {R"("logprobs":-1)", "logprobs"},
      {R"("logprobs":1000000)", "logprobs"},
      {R"("logprobs":true)", "logprobs"},
      {R"("prompt_logprobs":21)", "prompt_logprobs"},
      {R"("prompt_logprobs":1,"stream":true)", "prompt_logprobs"},
      {R"("prompt_logprobs":1,"echo":true,"logprobs":2)", "prompt_logprobs"},
  };
  for (const auto& [fields, param] : cases)
    EXPECT_EQ(rig.complete(str(R"("prompt":"a",)", fields), 400)["error"]["param"], param)
        << fields;
  const std::pair<const char*, const char*> chat_cases[] = {
      {R"("top_logprobs":5)", "top_logprobs"},
      {R"("logprobs":false,"top_logprobs":5)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":-1)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":1000000)", "top_logprobs"},
      {R"("logprobs":5)", "logprobs"},
      {R"("max_tokens":0)", "max_tokens"},
  };
  for (const auto& [fields, param] : chat_cases)
    EXPECT_EQ(rig.chat(fields, 400)["error"]["param"], param) << fields;
  std::string many = R"("prompt":["a")";
  for (int i = 0; i < 128; ++i) many += ",\"a\"";
  EXPECT_EQ(rig.complete(many + "]", 400)["error"]["param"], "prompt");
  rig.test.expect_alive();
}

TEST(Choices, UnseededPromptsDrawDifferentNumbers) {
  Rig rig;
  rig.complete(R"("prompt":["a","a"])");
  rig.complete(R"("prompt":["a","a"],"seed":7)");
  const auto seen = rig.test.engine->seen();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_NE(seen[0].sampling.seed, seen[1].sampling.seed);
  EXPECT_EQ(seen[2].sampling.seed, 7u);
  EXPECT_EQ(seen[3].sampling.seed, 7u);
}

}  // namespace
}  // namespace mlxforge
