// The worker: the one thread that owns every mx::array, and the EngineService before it. It loads
// the engine, then takes requests from a queue, steps, and hands each step's events to the sink.
// The loop outlives every request; if the engine itself dies, every waiter is told and stats() says
// failed.
//
// Threads: construct and destroy on any one thread; all else as EngineService says. No thread but
// the worker touches MLX.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace mlxforge {

class Worker : public EngineService {
 public:
  using Load = std::function<std::unique_ptr<Engine>()>;  // runs on the worker thread

  Worker(Load load, int max_waiting, StepSink sink);
  ~Worker() override;  // cancels what is left

  // Blocks until the engine is loaded; rethrows what load threw.
  void wait_ready();

  Result<RequestId> submit(Request request) override;
  void cancel(RequestId id) override;
  void cancel_choice(RequestId id, uint32_t choice) override;
  ServiceStats stats() const override;

  // Runs f on the worker thread between steps and waits for it; rethrows what it threw, and throws
  // when the engine is dead or dies first. REQUIRES wait_ready().
  void call(const std::function<void(Engine&)>& f);

 private:
  struct Command {
    std::function<std::vector<StepEvent>(Engine&)> run;
    bool submits = false;
  };

  void enqueue_for(RequestId id, std::function<std::vector<StepEvent>(Engine&)> run);
  void main(const Load& load);
  void serve(Engine& engine);
  std::deque<Command> next_commands(const Engine& engine);
  bool stopping();
  void publish(const Engine& engine);
  void deliver(std::vector<StepEvent> events);
  void fail_all(const std::string& why);
  Status admissible(const Request& request) const;
  Status check_ids(const std::vector<int32_t>& ids, const char* param) const;

  std::atomic<bool> loaded_ok_ = false;
  // Set once before loaded_ok_, then constant.
  struct Limits {
    int vocab = 0;
    int max_ctx = 0;
    int capacity = 0;
  } limits_;
  const int max_waiting_;
  const StepSink sink_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Command> commands_;
  std::set<RequestId> live_;  // submitted, not finished
  int n_submitted_ = 0;       // submits among commands_
  ServiceStats stats_;
  RequestId next_id_ = 1;
  bool stop_ = false;

  std::promise<void> loaded_;
  std::shared_future<void> ready_;
  std::thread thread_;
};

}  // namespace mlxforge
