#include "engine/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "engine/testing/tiny_model.h"

namespace mlxforge {
namespace {

// Collects what the worker says; the test thread waits for ends.
class Listener {
 public:
  StepSink sink() {
    return [this](std::vector<StepEvent> events) {
      std::lock_guard lock(mutex_);
      for (auto& event : events) {
        n_tokens_[event.id] += event.tokens.size();
        if (event.finish != FinishReason::none) ended_[event.id] = event;
      }
      changed_.notify_all();
    };
  }
  StepEvent wait_for(RequestId id) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_.contains(id); });
    return ended_[id];
  }
  void wait_for_token(RequestId id) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_tokens_[id] > 0; });
  }
  size_t n_tokens(RequestId id) {
    std::lock_guard lock(mutex_);
    return n_tokens_[id];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestId, size_t> n_tokens_;
  std::map<RequestId, StepEvent> ended_;
};

Request request(int n_prompt, int max_tokens) {
  Request r;
  r.prompt = random_prompt(n_prompt, 5);
  r.max_tokens = max_tokens;
  return r;
}

struct Rig {
  explicit Rig(int max_waiting = 8, EngineTweaks tweaks = {})
      : worker([this, tweaks] { return make_engine(model, tweaks); }, max_waiting,
               listener.sink()) {
    worker.wait_ready();
  }
  TinyModel model;
  Listener listener;
  Worker worker;
};

TEST(Worker, RunsRequestsAndComesToRest) {
  Rig rig;
  std::vector<RequestId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(rig.worker.submit(request(10 + i, 20)).value());
  for (const RequestId id : ids) {
    EXPECT_EQ(rig.listener.wait_for(id).finish, FinishReason::length);
    EXPECT_EQ(rig.listener.n_tokens(id), 20u);
  }
  const ServiceStats stats = rig.worker.stats();
  EXPECT_EQ(stats.running + stats.waiting + stats.kv_blocks_used, 0);
  EXPECT_EQ(stats.kv_blocks_total, 64);
}

// Case 40: what can never fit is refused at once, with both counts.
TEST(Worker, RefusesWhatCanNeverRun) {
  Rig rig(8, {.max_ctx = 64, .kv_blocks = 64});
  const auto refused = rig.worker.submit(request(64, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, Code::context_exceeded);
  EXPECT_NE(refused.status().message.find("64 tokens"), std::string::npos);
  EXPECT_TRUE(rig.worker.submit(request(63, 5)).ok());
  EXPECT_TRUE(rig.worker.submit(request(64, 0)).ok());  // no answer needs room
  EXPECT_EQ(rig.worker.submit(request(65, 0)).status().code, Code::context_exceeded);

  Request bad = request(3, 1);
  bad.prompt[1] = kVocab;
  EXPECT_EQ(rig.worker.submit(bad).status().code, Code::invalid_request);
  bad.prompt[1] = -1;
  EXPECT_FALSE(rig.worker.submit(bad).ok());
  bad.prompt[1] = 0;
  bad.stop_ids = {kVocab};
  EXPECT_EQ(rig.worker.submit(bad).status().param, "stop_token_ids");
  bad.stop_ids.clear();
  bad.prompt.clear();
  EXPECT_FALSE(rig.worker.submit(bad).ok());

  Rig small(8, {.max_ctx = 256, .kv_blocks = 4});
  EXPECT_EQ(small.worker.submit(request(128, 1)).status().code, Code::context_exceeded);
  EXPECT_TRUE(small.worker.submit(request(127, 1)).ok());
  EXPECT_EQ(small.worker.submit(request(129, 0)).status().code, Code::context_exceeded);
  const RequestId whole_cache = small.worker.submit(request(128, 0)).value();
  EXPECT_EQ(small.listener.wait_for(whole_cache).finish, FinishReason::length);
}

TEST(Worker, AFullQueueIsSaidAtOnce) {
  Rig rig(2, {.max_batch = 1});
  const RequestId running = rig.worker.submit(request(4, 200)).value();
  rig.listener.wait_for_token(running);
  ASSERT_TRUE(rig.worker.submit(request(4, 1)).ok());
  ASSERT_TRUE(rig.worker.submit(request(4, 1)).ok());
  const auto refused = rig.worker.submit(request(4, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, Code::queue_full);
}

TEST(Worker, CancelEndsARequestAndFreesItsBlocks) {
  Rig rig;
  rig.worker.call([](Engine& engine) {  // slow enough to be cancelled before its 200 tokens are out
    engine.set_before_run(
        [](const Batch&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  });
  const RequestId id = rig.worker.submit(request(20, 200)).value();
  rig.listener.wait_for_token(id);
  rig.worker.cancel(id);
  EXPECT_EQ(rig.listener.wait_for(id).finish, FinishReason::cancelled);
  EXPECT_EQ(rig.worker.stats().kv_blocks_used, 0);
  rig.worker.cancel(id);
  rig.worker.cancel(12345);
}

TEST(Worker, LoadFailureReachesWhoeverWaits) {
  Worker worker([]() -> std::unique_ptr<Engine> { throw Error("[files] no such model"); }, 8,
                [](std::vector<StepEvent>) {});
  EXPECT_THROW(worker.wait_ready(), Error);
  EXPECT_EQ(worker.submit(request(1, 1)).status().code, Code::unavailable);
}

// Case 42: when the engine itself is dead, waiters hear of it and stats say so.
TEST(Worker, ADeadEngineTellsEveryWaiter) {
  Rig rig;
  rig.worker.call([](Engine& engine) {
    engine.set_before_run([](const Batch&) { throw 42; });  // not a std::exception
  });
  const RequestId id = rig.worker.submit(request(4, 10)).value();
  EXPECT_EQ(rig.listener.wait_for(id).finish, FinishReason::error);
  EXPECT_TRUE(rig.worker.stats().failed);
  EXPECT_EQ(rig.worker.submit(request(4, 10)).status().code, Code::unavailable);
}

TEST(Worker, ACallThatADyingEngineNeverReachesThrows) {
  Rig rig;
  std::promise<void> stepping, queued;
  rig.worker.call([&](Engine& engine) {
    engine.set_before_run([&](const Batch&) {
      stepping.set_value();
      queued.get_future().wait();
      throw 42;
    });
  });
  const RequestId id = rig.worker.submit(request(4, 10)).value();
  stepping.get_future().wait();
  auto call = std::async(std::launch::async, [&] { rig.worker.call([](Engine&) {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it stands in the queue
  queued.set_value();
  EXPECT_THROW(call.get(), std::exception);
  rig.listener.wait_for(id);
}

TEST(Worker, CallRunsOnTheWorkerAndRethrows) {
  Rig rig;
  int vocab = 0;
  rig.worker.call([&](Engine& engine) { vocab = engine.spec().vocab; });
  EXPECT_EQ(vocab, kVocab);
  EXPECT_THROW(rig.worker.call([](Engine&) { throw Error("no"); }), Error);
  EXPECT_TRUE(rig.worker.submit(request(4, 2)).ok());
}

}  // namespace
}  // namespace mlxforge
