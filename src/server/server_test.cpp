// The whole server over real sockets and a fake engine: answers, refusals, failures, its end.
#include "server/server.h"

#include <gtest/gtest.h>

#include <csignal>

#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

using std::chrono::microseconds;

TEST(Server, AnswersChatWholeAndStreamedWithTheSameText) {
  TestServer test(always(say("Hello, world")));
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  const HttpAnswer whole = client.post(kChat, chat_body());
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.headers.at("content-type"), "application/json");
  EXPECT_EQ(OrderedJson::parse(whole.body)["choices"][0]["message"]["content"], "Hello, world");
  const HttpAnswer streamed = client.post(kChat, chat_body(kStream));
  EXPECT_EQ(streamed.status, 200);
  EXPECT_EQ(streamed.headers.at("content-type"), "text/event-stream; charset=utf-8");
  EXPECT_TRUE(streamed.body.ends_with("data: [DONE]\n\n"));
  std::string text;
  for (size_t at = streamed.body.find("data: {"); at != std::string::npos;
       at = streamed.body.find("data: {", at + 1)) {
    const auto event =
        OrderedJson::parse(streamed.body.substr(at + 6, streamed.body.find("\n\n", at) - at - 6));
    text += event["choices"][0]["delta"].value("content", "");
  }
  EXPECT_EQ(text, "Hello, world");
}

TEST(Server, TellsNothingButHealthWhileLoadingAndAfterAFailedLoad) {
  Server server({.port = 0});
  server.start();
  HttpClient client(server.port());
  HttpAnswer health = client.get("/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(OrderedJson::parse(health.body)["status"], "loading");
  const HttpAnswer refusal = client.post(kChat, chat_body());
  EXPECT_EQ(refusal.status, 503);
  EXPECT_TRUE(refusal.headers.contains("retry-after"));
  server.set_failed("[files] expected a model");
  health = client.get("/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(OrderedJson::parse(health.body)["status"], "failed");
  EXPECT_NE(client.post(kChat, chat_body()).body.find("expected a model"), std::string::npos);
}

TEST(Server, FreePortsDifferAndATakenOneIsAnError) {
  Server a({.port = 0});
  a.start();
  Server b({.port = a.port()});
  EXPECT_THROW(b.start(), Error);
  Server c({.host = "no.such.host.invalid", .port = 0});
  EXPECT_THROW(c.start(), Error);
}

// Case 40: refused before any header of a stream.
TEST(Server, EngineRefusalsComeWithTheirStatusAlsoWhenStreaming) {
  TestServer test(always(endless()), {}, {.max_ctx = 256, .slots = 1, .max_waiting = 1});
  HttpClient client(test.port);
  for (const char* stream : {"", kStream}) {
    const std::string fields = *stream ? "," + std::string(stream) : "";
    const std::string prompt(256, 'a');
    const HttpAnswer answer =
        client.post("/v1/completions", "{\"prompt\":\"" + prompt + "\"" + fields + "}");
    EXPECT_EQ(answer.status, 400);
    const auto error = OrderedJson::parse(answer.body)["error"];
    EXPECT_EQ(error["code"], "context_length_exceeded");
    EXPECT_NE(error["message"].get<std::string>().find("256"), std::string::npos);
    EXPECT_EQ(error["param"], "prompt");
    const std::string messages = R"({"messages":[{"role":"user","content":")" + prompt + "\"}]";
    const HttpAnswer refused = client.post(kChat, messages + fields + "}");
    EXPECT_EQ(OrderedJson::parse(refused.body)["error"]["param"], "messages");
  }
  HttpClient first(test.port), second(test.port);
  first.send_post(kChat, chat_body());
  second.send_post(kChat, chat_body());
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 2; }));
  for (const char* stream : {"", kStream}) {
    const HttpAnswer full = client.post(kChat, chat_body(stream));
    EXPECT_EQ(full.status, 429);
    EXPECT_EQ(full.headers.at("retry-after"), "1");
  }
  EXPECT_EQ(test.health()["waiting"], 1);
}

// Case 26: the match ends the answer and the engine's work.
TEST(Server, AStopStringCancelsTheEnginesWork) {
  TestServer test(always(endless("Hello wor")));
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  for (const char* fields : {R"("stop":["lo wor"])", R"("stop":"lo wor","stream":true)"}) {
    const HttpAnswer answer = client.post(kChat, chat_body(fields));
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find(R"("finish_reason":"stop")"), std::string::npos);
    EXPECT_EQ(answer.body.find("wor"), std::string::npos);
    EXPECT_EQ(test.engine->active(), 0u);
  }
}

TEST(Server, ManyStreamsAtOnce) {
  constexpr int kStreams = 300;
  TestServer test(always(say("Hello")), {}, {.slots = kStreams});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<HttpClient>(test.port));
    clients.back()->send_post(kChat, chat_body(kStream));
  }
  test.engine->run(microseconds(100));
  for (auto& client : clients) EXPECT_TRUE(client->read().body.ends_with("[DONE]\n\n"));
}

TEST(Server, DrainFinishesWhatRunsAndRefusesWhatComes) {
  TestServer test(always(say("Hello")));
  HttpClient streaming(test.port), idle(test.port), late(test.port);
  EXPECT_EQ(idle.get("/health").status, 200);
  EXPECT_EQ(late.get("/health").status, 200);
  streaming.send_post(kChat, chat_body(kStream));
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 1; }));
  test.server.drain();
  const HttpAnswer refused = late.post(kChat, chat_body());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_EQ(test.health()["status"], "draining");
  test.engine->run(microseconds(100));
  const HttpAnswer answer = streaming.read();
  EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n"));
  test.server.wait();
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_THROW(HttpClient{test.port}, std::runtime_error);
}

TEST(Server, DrainOfAnIdleServerEndsAtOnce) {
  TestServer test(always(endless()));
  HttpClient idle(test.port);
  EXPECT_EQ(idle.get("/health").status, 200);
  test.server.drain();
  test.server.wait();
}

TEST(Server, StopDropsWhatRuns) {
  TestServer test(always(endless()), {}, {.max_ctx = 1 << 24});
  test.engine->run(microseconds(100));
  HttpClient streaming(test.port), whole(test.port);
  streaming.send_post(kChat, chat_body(kStream));
  whole.send_post(kChat, chat_body());
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 2; }));
  test.server.stop();
  test.server.wait();
  EXPECT_TRUE(eventually([&] { return test.engine->active() == 0; }));
}

// In processes of their own, because a signal concerns the whole process.
TEST(ServerDeathTest, TheFirstSignalDrainsTheSecondEndsAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        TestServer test(always(say("Hello")));
        test.server.drain_on_signals();
        HttpClient client(test.port);
        client.send_post(kChat, chat_body());
        if (!eventually([&] { return test.engine->active() == 1; })) std::_Exit(99);
        std::raise(SIGTERM);
        if (!eventually([&] { return test.health()["status"] == "draining"; })) std::_Exit(98);
        test.engine->run(microseconds(100));
        test.server.wait();
        std::_Exit(client.read().status == 200 ? 0 : 97);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        TestServer test(always(endless()));
        test.server.drain_on_signals();
        HttpClient client(test.port);
        client.send_post(kChat, chat_body());
        if (!eventually([&] { return test.engine->active() == 1; })) std::_Exit(99);
        std::raise(SIGINT);
        if (!eventually([&] { return test.health()["status"] == "draining"; })) std::_Exit(98);
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::seconds(20));
        std::_Exit(97);
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(ServerDeathTest, ASignalAfterTheDrainEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        TestServer test(always(say("Hello")));
        test.server.drain_on_signals();
        std::raise(SIGTERM);
        test.server.wait();
        std::raise(SIGTERM);
        std::_Exit(97);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(ServerDeathTest, ASignalWhileTheModelLoadsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          Server server({.port = 0});
          server.drain_on_signals();
          server.start();
          std::raise(signal);
          std::this_thread::sleep_for(std::chrono::seconds(20));
          std::_Exit(97);
        },
        testing::ExitedWithCode(0), "");
  }
}

// Case 42.
TEST(Server, AFailedRowConcernsNobodyElseAndAFailedEngineTellsEverybody) {
  Script failing = say("so");
  failing.finish = FinishReason::error;
  failing.error = {Code::internal, "injected", ""};
  std::atomic<int> asked = 0;
  TestServer test([&](const Request&) { return asked++ % 2 ? failing : say("fine"); });
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.post(kChat, chat_body()).status, 200);
    EXPECT_EQ(client.post(kChat, chat_body()).status, 500);
  }
  EXPECT_TRUE(client.post(kChat, chat_body(kStream)).body.ends_with("[DONE]\n\n"));
  const HttpAnswer broken = client.post(kChat, chat_body(kStream));
  EXPECT_EQ(broken.status, 200);
  EXPECT_NE(broken.body.find(R"(data: {"error":{"message":"injected")"), std::string::npos);
  EXPECT_EQ(broken.body.find("[DONE]"), std::string::npos);
  EXPECT_TRUE(client.closed_by_server());

  test.engine->stop();
  HttpClient waiting(test.port);
  waiting.send_post(kChat, chat_body());
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 1; }));
  test.engine->fail();
  EXPECT_GE(waiting.read().status, 500);
  HttpClient after(test.port);
  EXPECT_EQ(after.get("/health").status, 503);
  EXPECT_EQ(test.health()["status"], "failed");
  EXPECT_EQ(after.post(kChat, chat_body()).status, 503);
}

TEST(Server, AnExceptionConcernsItsRequestOnly) {
  std::atomic<int> asked = 0;
  TestServer test([&](const Request&) {
    if (asked++ == 0) throw CheckFailure("injected");
    return say("fine");
  });
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  EXPECT_EQ(client.post(kChat, chat_body()).status, 500);
  test.expect_alive();
}

// 4 MB of words, which nobody wants any more: the drain waits for no more than a part of them.
TEST(Server, ALongPromptIsGivenUpWhenItsClientLeaves) {
  TestServer test(always(say("x")), {}, {.max_ctx = 1 << 24});
  std::string words;
  while (words.size() < 4'000'000) words += "word ";
  for (const std::string& body :
       {OrderedJson{{"prompt", words}}.dump(),
        OrderedJson{{"messages", {{{"role", "user"}, {"content", words}}}}}.dump()}) {
    HttpClient client(test.port);
    client.send_post(body.starts_with("{\"prompt") ? "/v1/completions" : kChat, body);
  }
  test.server.drain();
  test.server.wait();
  EXPECT_EQ(test.engine->active(), 0);
}

TEST(Server, AHandlerPoolBusyWithALongPromptHoldsUpNoStream) {
  TestServer test(always(say(std::string(200, 'x'))), {}, {.max_ctx = 1 << 24});
  HttpClient streaming(test.port), heavy1(test.port), heavy2(test.port);
  streaming.send_post(kChat, chat_body(kStream));
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 1; }));
  const std::string body = "{\"prompt\":\"" + std::string(512 << 10, 'a') + "\",\"max_tokens\":1}";
  heavy1.send_post("/v1/completions", body);
  heavy2.send_post("/v1/completions", body);
  test.engine->run(microseconds(10));
  EXPECT_TRUE(streaming.read().body.ends_with("[DONE]\n\n"));
  EXPECT_EQ(heavy1.read().status, 200);
  EXPECT_EQ(heavy2.read().status, 200);
}

}  // namespace
}  // namespace mlxforge
