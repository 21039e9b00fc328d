// The whole server over real sockets and a fake engine.
#include "server/server.h"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <random>

#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kStream[] = R"("stream":true)";

auto always(Script script) {
  return [script = std::move(script)](const Request&) { return script; };
}

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

// Case 29.
TEST(Server, TwoHundredDisconnectsLeaveNothingBehind) {
  TestServer test(always(endless()), {}, {.max_ctx = 1 << 20, .slots = 4});
  test.engine->run(microseconds(200));
  std::mt19937 random(29);
  const auto visit = [&](uint32_t dice) {
    HttpClient client(test.port);
    const bool stream = dice & 1;
    client.send_post(kChat,
                     chat_body(str(R"("max_tokens":100000)", stream ? R"(,"stream":true)" : "")));
    if (stream && (dice & 2)) EXPECT_TRUE(client.wait_for(R"("content":"x")"));
    if (dice & 4) std::this_thread::sleep_for(microseconds(dice >> 20));
    if (dice & 8) client.reset();
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<std::future<void>> visitors;
    for (int i = 0; i < 4; ++i) visitors.push_back(std::async(std::launch::async, visit, random()));
  }
  EXPECT_TRUE(eventually([&] { return test.engine->active() == 0; }));
  const auto health = test.health();
  for (const char* key : {"running", "waiting", "kv_blocks_used"}) EXPECT_EQ(health[key], 0) << key;
  std::vector<std::future<void>> next;
  for (int i = 0; i < 4; ++i)
    next.push_back(std::async(std::launch::async, [&] { test.expect_alive(); }));
}

// Nothing is written in any of these, so only reading tells that the client has gone.
TEST(Server, AClientThatLeavesBeforeTheFirstByteIsNoticed) {
  TestServer test(always(endless()));  // no step ever runs
  for (const bool stream : {false, true})
    for (const char* how : {"reset", "close", "half", "pipelined"}) {
      const size_t before = test.engine->seen().size();
      HttpClient client(test.port);
      client.send_post(kChat, chat_body(stream ? kStream : ""));
      ASSERT_TRUE(eventually([&] { return test.engine->seen().size() == before + 1; }));
      EXPECT_EQ(test.engine->active(), 1u);
      if (how == std::string("pipelined")) client.send("GET /health HTTP/1.1\r\n");
      if (how == std::string("half"))
        client.close_sending();
      else if (how == std::string("reset"))
        client.reset();
      else
        client.close();
      EXPECT_TRUE(eventually([&] {
        test.engine->step();
        return test.engine->active() == 0;
      })) << how;
    }
}

TEST(Server, AClientThatLeavesWhileMoreIsPipelinedThanIsReadAheadIsNoticed) {
  TestServer test(always(endless()), {.pipelined_bytes = 1000});
  HttpClient client(test.port);
  client.send_post(kChat, chat_body());
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 1; }));
  client.send(std::string(50'000, 'x'));
  client.reset();
  EXPECT_TRUE(eventually([&] {
    test.engine->step();
    return test.engine->active() == 0;
  }));
}

TEST(Server, ASlowReaderLosesItsRequestAndBlocksNobody) {
  Script big;  // more than the sockets' buffers hold
  big.steps.assign(3000, std::vector<int32_t>(1000, 'x'));
  std::atomic<int> asked = 0;
  TestServer test([&](const Request&) { return asked++ == 0 ? big : endless(); },
                  {.pending_tokens = 20'000}, {.max_ctx = 1 << 24});
  HttpClient slow(test.port, 4096);
  slow.send_post(kChat, chat_body(kStream));
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 1; }));
  test.engine->run(microseconds(50));
  test.expect_alive();  // while the other one stands still
  EXPECT_TRUE(eventually([&] { return test.engine->active() == 0; }));
  EXPECT_TRUE(slow.wait_for("reads too slowly"));
  slow.read_to_end();  // and is closed
}

TEST(Server, AReaderThatTakesNothingIsClosed) {
  Script big;  // a control character takes six bytes of JSON
  big.steps.assign(500, std::vector<int32_t>(10'000, 1));
  TestServer test(always(big), {.pending_tokens = 1 << 30, .write = milliseconds(200)},
                  {.max_ctx = 1 << 24});
  HttpClient slow(test.port, 4096);
  slow.send_post(kChat, chat_body(kStream));
  ASSERT_TRUE(eventually([&] { return test.engine->active() == 1; }));
  test.engine->run(microseconds(5000));
  EXPECT_TRUE(eventually([&] { return test.engine->active() == 0; }));
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

// Case 32 and 47 over the wire.
TEST(Server, GarbageIsRefusedAndTheServerLives) {
  TestServer test(always(endless()));
  test.engine->run(microseconds(100));
  std::vector<std::string> bodies = {"{}",
                                     "[]",
                                     "\"x\"",
                                     "",
                                     R"({"messages":[{"role":"us)",
                                     chat_body("\"stream\":\"yes\""),
                                     chat_body("\"max_tokens\":\"10\""),
                                     "{\"a\":\"\xff\xfe\"}",
                                     std::string(1000, '\0')};
  for (const char* messages : {"{}", "[]", "[1]", R"([{"role":5,"content":"x"}])"})
    bodies.push_back(str("{\"messages\":", messages, "}"));
  for (const char* field : {"tools", "x"})
    for (const int depth : {3000, 200'000})
      bodies.push_back(
          str("{\"", field, "\":", std::string(depth, '['), std::string(depth, ']'), "}"));
  for (const std::string& body : bodies) {
    HttpClient client(test.port);
    const HttpAnswer answer = client.post(kChat, body);
    EXPECT_EQ(answer.status, 400);
    const auto error = OrderedJson::parse(answer.body)["error"];  // throws for invalid UTF-8
    EXPECT_TRUE(error["param"].is_string()) << answer.body;
    test.expect_alive();
  }
}

TEST(Server, WhatIsNotHttpIsRefusedAndTheServerLives) {
  TestServer test(always(endless()));
  test.engine->run(microseconds(100));
  const std::pair<std::string, int> cases[] = {
      {"NONSENSE\r\n\r\n", 400},
      {"\r\n\r\n\x16\x03\x01\x02", 400},
      {"GET /health HTTP/9.9\r\n\r\n", 400},
      {"GET /health\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nbad header\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       400},
      {"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab",
       413},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413},
      {"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n",
       413},
      {"GET /health HTTP/1.1\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n", 431},
  };
  for (const auto& [bytes, status] : cases) {
    HttpClient client(test.port);
    client.send(bytes);
    const HttpAnswer answer = client.read();
    EXPECT_EQ(answer.status, status) << bytes.substr(0, 100);
    EXPECT_TRUE(OrderedJson::parse(answer.body)["error"]["message"].is_string());
    EXPECT_TRUE(client.closed_by_server());
  }
  test.expect_alive();
}

// A client that is still sending a large body sees the refusal, not a reset.
TEST(Server, ALargeBodyGetsItsRefusal) {
  TestServer test(always(endless()));
  HttpClient client(test.port);
  client.send_post(kChat, std::string(20 << 20, 'x'));
  EXPECT_EQ(client.read().status, 413);
}

TEST(Server, ABodyOfTheLargestSizeIsRead) {
  TestServer test(always(endless()));
  HttpClient client(test.port);
  const std::string head = R"({"prompt":"x","user":")";
  std::string body = head + std::string((4 << 20) - head.size() - 4, 'x') + "\"}";
  EXPECT_EQ(client.post(kChat, body).status, 400);  // read, and found to have no messages
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(Server, KeepAlivePipeliningAndClose) {
  TestServer test(always(say("hi")));
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/health").status, 200);
  client.send_post(kChat, chat_body(kStream));
  client.send(
      "GET /v1/models HTTP/1.1\r\n\r\nGET /nope HTTP/1.1\r\n\r\nHEAD /health HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(client.read().body.ends_with("[DONE]\n\n"));
  EXPECT_EQ(OrderedJson::parse(client.read().body)["data"][0]["id"], "tiny");
  EXPECT_EQ(client.read().status, 404);
  client.send("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string rest = client.read_to_end();
  EXPECT_EQ(rest.find("HTTP/1.1 200 OK"), 0u);
  const std::string after_head = rest.substr(rest.find("\r\n\r\n") + 4);
  EXPECT_EQ(after_head.find("HTTP/1.1 200 OK"), 0u) << "HEAD had a body";
}

TEST(Server, Http10ClientsGetPlainBodies) {
  TestServer test(always(say("hi")));
  test.engine->run(microseconds(100));
  const std::string body = chat_body(kStream);
  HttpClient client(test.port);
  client.send(str("POST ", kChat, " HTTP/1.0\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  const std::string all = client.read_to_end();
  EXPECT_EQ(all.find("chunked"), std::string::npos);
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n"));
}

TEST(Server, ExpectContinueIsAnswered) {
  TestServer test(always(say("hi")));
  test.engine->run(microseconds(100));
  const std::string body = chat_body();
  HttpClient client(test.port);
  client.send(str("POST ", kChat, " HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: ",
                  body.size(), "\r\n\r\n"));
  ASSERT_TRUE(client.wait_for("100 Continue\r\n\r\n"));
  client.send(body);
  EXPECT_EQ(client.read().status, 200);
}

TEST(Server, SlowRequestsAndIdleConnectionsAreClosed) {
  TestServer test(always(endless()), {.idle = milliseconds(100), .read = milliseconds(200)});
  HttpClient idle(test.port), slow(test.port), dripping(test.port);
  slow.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 10\r\n\r\n123");
  std::atomic<bool> done = false;
  std::thread drip([&] {  // a byte now and then does not prolong it
    for (int i = 0; i < 200 && !done; ++i) {
      if (!dripping.send("G")) break;
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_TRUE(slow.closed_by_server());
  EXPECT_TRUE(dripping.closed_by_server());
  done = true;
  drip.join();
}

TEST(Server, ConnectionsBeyondTheLimitAreTurnedAway) {
  TestServer test(always(endless()), {.connections = 2});
  HttpClient a(test.port);
  EXPECT_EQ(a.get("/health").status, 200);
  {
    HttpClient b(test.port);
    EXPECT_EQ(b.get("/health").status, 200);
    HttpClient c(test.port);
    EXPECT_EQ(c.read().status, 503);
    EXPECT_TRUE(c.closed_by_server());
  }
  EXPECT_TRUE(eventually([&] {
    try {
      return HttpClient(test.port).get("/health").status == 200;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
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
