// A server on a free port over a FakeEngine, for end-to-end tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "server/json.h"
#include "server/server.h"
#include "server/testing/bodies.h"
#include "server/testing/fake_engine.h"
#include "server/testing/http_client.h"
#include "server/testing/test_model.h"

namespace mlxforge {

// The text, one byte a step.
inline Script say(std::string_view text) {
  Script script;
  for (const int32_t id : bytes_of(text)) script.steps.push_back({id});
  return script;
}

// The text, then one byte a step without end.
inline Script endless(std::string_view text = "") {
  Script script = say(text);
  script.steps.push_back({'x'});
  script.forever = true;
  return script;
}

// The same script for every request.
inline FakeEngine::Author always(Script script) {
  return [script = std::move(script)](const Request&) { return script; };
}

// Polls until it holds; false after ten seconds.
inline bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 10'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

struct TestServer {
  explicit TestServer(FakeEngine::Author author, HttpLimits http = {},
                      FakeEngine::Limits limits = {}, AccessRules access = {})
      : server({.port = 0, .limits = http, .access = std::move(access)}) {
    server.start();
    port = server.port();
    engine = std::make_unique<FakeEngine>(server.step_sink(), std::move(author), limits);
    server.set_model(test_model(engine.get(), limits.max_ctx));
  }
  ~TestServer() {
    server.stop();
    server.wait();
  }

  OrderedJson health() { return OrderedJson::parse(HttpClient(port).get("/health").body); }

  // The server still answers, with content.
  void expect_alive() {
    HttpClient client(port);
    EXPECT_EQ(client.get("/health").status, 200);
    const HttpAnswer answer = client.post(kChat, chat_body(R"("max_tokens":3)"));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(OrderedJson::parse(answer.body)["usage"]["completion_tokens"], 3);
  }

  Server server;
  uint16_t port = 0;
  std::unique_ptr<FakeEngine> engine;
};

}  // namespace mlxforge
