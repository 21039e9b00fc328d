// Clients that leave, read slowly, send slowly or are too many, over real sockets and a fake
// engine.
#include <gtest/gtest.h>

#include <future>
#include <random>

#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Case 29.
TEST(Clients, TwoHundredDisconnectsLeaveNothingBehind) {
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
TEST(Clients, AClientThatLeavesBeforeTheFirstByteIsNoticed) {
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

TEST(Clients, AClientThatLeavesWhileMoreIsPipelinedThanIsReadAheadIsNoticed) {
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

TEST(Clients, ASlowReaderLosesItsRequestAndBlocksNobody) {
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

TEST(Clients, AReaderThatTakesNothingIsClosed) {
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

TEST(Clients, SlowRequestsGet408AndIdleConnectionsAreClosed) {
  TestServer test(always(endless()), {.idle = milliseconds(100), .read = milliseconds(200)});
  HttpClient idle(test.port), slow(test.port), dripping(test.port);
  slow.send("POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
  std::atomic<bool> done = false;
  std::thread drip([&] {  // a byte now and then does not prolong it
    for (int i = 0; i < 200 && !done; ++i) {
      if (!dripping.send("G")) break;
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_TRUE(idle.closed_by_server());
  for (HttpClient* client : {&slow, &dripping}) {
    const HttpAnswer answer = client->read();
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_TRUE(client->closed_by_server());
  }
  done = true;
  drip.join();
}

TEST(Clients, ConnectionsBeyondTheLimitAreTurnedAway) {
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

}  // namespace
}  // namespace mlxforge
