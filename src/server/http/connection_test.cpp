// HTTP/1.1 over the wire: what is refused, and how requests share a connection.
#include <gtest/gtest.h>

#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

using std::chrono::microseconds;

// Case 32 and 47 over the wire.
TEST(Http, GarbageIsRefusedAndTheServerLives) {
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

TEST(Http, WhatIsNotHttpIsRefusedAndTheServerLives) {
  TestServer test(always(endless()));
  test.engine->run(microseconds(100));
  const std::pair<std::string, int> cases[] = {
      {"NONSENSE\r\n\r\n", 400},
      {"\x16\x03\x01\x02\r\n\r\n", 400},
      {"GET /health HTTP/9.9\r\n\r\n", 400},
      {"GET /health\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: "
       "2\r\n\r\nab",
       400},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       400},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
       "chunked\r\n\r\nffffffffffffffff\r\nab",
       413},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413},
      {"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: "
       "100-continue\r\n\r\n",
       413},
      {"GET /health HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n", 431},
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
TEST(Http, ALargeBodyGetsItsRefusal) {
  TestServer test(always(endless()));
  HttpClient client(test.port);
  client.send_post(kChat, std::string(20 << 20, 'x'));
  EXPECT_EQ(client.read().status, 413);
}

TEST(Http, ABodyOfTheLargestSizeIsRead) {
  TestServer test(always(endless()));
  HttpClient client(test.port);
  const std::string head = R"({"prompt":"x","user":")";
  std::string body = head + std::string((4 << 20) - head.size() - 4, 'x') + "\"}";
  EXPECT_EQ(client.post(kChat, body).status, 400);  // read, and found to have no messages
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(Http, KeepAlivePipeliningAndClose) {
  TestServer test(always(say("hi")));
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/health").status, 200);
  client.send_post(kChat, chat_body(kStream));
  client.send(
      "GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\nGET http://a/nope HTTP/1.1\r\nHost: a\r\n\r\n"
      "\r\nHEAD http://a/health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.read().body.ends_with("[DONE]\n\n"));
  EXPECT_EQ(OrderedJson::parse(client.read().body)["data"][0]["id"], "tiny");
  EXPECT_EQ(client.read().status, 404);
  client.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string rest = client.read_to_end();
  EXPECT_EQ(rest.find("HTTP/1.1 200 OK"), 0u);
  const std::string after_head = rest.substr(rest.find("\r\n\r\n") + 4);
  EXPECT_EQ(after_head.find("HTTP/1.1 200 OK"), 0u) << "HEAD had a body";
}

// The end then reaches the watch of a request that has just been answered.
TEST(Http, AnEndThatComesWithTheAnswerIsNoticed) {
  TestServer test(always(endless()));
  for (int i = 0; i < 2000; ++i) {
    HttpClient client(test.port);
    client.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    client.close_sending();
    ASSERT_NO_THROW(client.read_to_end());
  }
}

TEST(Http, Http10ClientsGetPlainBodies) {
  TestServer test(always(say("hi")));
  test.engine->run(microseconds(100));
  const std::string body = chat_body(kStream);
  HttpClient client(test.port);
  client.send(str("POST ", kChat, " HTTP/1.0\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  const std::string all = client.read_to_end();
  EXPECT_EQ(all.find("chunked"), std::string::npos);
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n"));
}

TEST(Http, ExpectContinueIsAnswered) {
  TestServer test(always(say("hi")));
  test.engine->run(microseconds(100));
  const std::string body = chat_body();
  HttpClient client(test.port);
  client.send(str("POST ", kChat,
                  " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ", body.size(),
                  "\r\n\r\n"));
  ASSERT_TRUE(client.wait_for("100 Continue\r\n\r\n"));
  client.send(body);
  EXPECT_EQ(client.read().status, 200);
}

}  // namespace
}  // namespace mlxforge
