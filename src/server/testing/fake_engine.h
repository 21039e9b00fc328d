// An engine without a model, for tests: each accepted request follows a script, one entry a step.
// Steps run on a thread of its own, or one by one with step(). Like the real one it holds no lock
// while it calls the sink.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/service.h"

namespace mlxforge {

struct Script {
  std::vector<std::vector<int32_t>> steps;  // tokens of each; after the last one the request ends
  bool forever = false;                     // the last step repeats until a limit or a cancellation
  FinishReason finish = FinishReason::stop;
  Status error;
};

class FakeEngine : public EngineService {
 public:
  struct Limits {
    int max_ctx = 4096;
    int slots = 4;
    int max_waiting = 256;
  };
  // The script of a request. Called at submit.
  using Author = std::function<Script(const Request&)>;

  FakeEngine(StepSink sink, Author author, Limits limits)
      : sink_(std::move(sink)), author_(std::move(author)), limits_(limits) {}
  ~FakeEngine() override { stop(); }

  void run(std::chrono::microseconds pause) {
    thread_ = std::jthread([this, pause](std::stop_token stop) {
      while (!stop.stop_requested()) {
        step();
        std::this_thread::sleep_for(pause);
      }
    });
  }
  void stop() { thread_ = {}; }

  void step() {
    std::vector<StepEvent> events;
    {
      std::lock_guard lock(mutex_);
      int places = limits_.slots;
      for (auto& [id, row] : rows_)
        if (row.cancelled || places-- > 0) events.push_back(advance(id, row));
      for (const StepEvent& event : events)
        if (event.finish != FinishReason::none) rows_.erase(event.id);
    }
    if (!events.empty()) sink_(std::move(events));
  }

  Result<RequestId> submit(Request request) override {
    std::lock_guard lock(mutex_);
    if (failed_) return Status{Code::unavailable, "the engine has failed", ""};
    const auto n = static_cast<int>(request.prompt.size());
    if (n >= limits_.max_ctx)
      return Status{Code::context_exceeded,
                    str("the prompt has ", n, " tokens, the context ", limits_.max_ctx), ""};
    if (static_cast<int>(rows_.size()) >= limits_.slots + limits_.max_waiting)
      return Status{Code::queue_full, "the waiting queue is full", ""};
    Row row{.script = author_(request),
            .prompt_n = n,
            .left = std::min(request.max_tokens, limits_.max_ctx - n)};
    seen_.push_back(std::move(request));
    rows_.emplace(++last_id_, std::move(row));
    return RequestId{last_id_};
  }

  void cancel(RequestId id) override {
    std::lock_guard lock(mutex_);
    if (const auto found = rows_.find(id); found != rows_.end()) found->second.cancelled = true;
  }

  ServiceStats stats() const override {
    std::lock_guard lock(mutex_);
    const int n = static_cast<int>(rows_.size());
    const int running = std::min(n, limits_.slots);
    ServiceStats stats;
    stats.running = running;
    stats.waiting = n - running;
    stats.max_waiting = limits_.max_waiting;
    stats.kv_blocks_total = 100;
    stats.kv_blocks_used = running;
    stats.failed = failed_;
    return stats;
  }

  size_t active() const {
    std::lock_guard lock(mutex_);
    return rows_.size();
  }
  std::vector<Request> seen() const {
    std::lock_guard lock(mutex_);
    return seen_;
  }

  // The worker dies: every request is told, and no other is taken.
  void fail() {
    std::vector<StepEvent> events;
    {
      std::lock_guard lock(mutex_);
      failed_ = true;
      for (auto& [id, row] : rows_) events.push_back(end(id, row, FinishReason::error));
      rows_.clear();
    }
    sink_(std::move(events));
  }

 private:
  struct Row {
    Script script;
    int prompt_n = 0;
    int left = 0;  // tokens that it may still produce
    size_t next = 0;
    int produced = 0;
    bool cancelled = false;
  };

  static StepEvent end(RequestId id, const Row& row, FinishReason finish) {
    StepEvent event;
    event.id = id;
    event.finish = finish;
    event.error = row.script.error;
    event.timings.prompt_n = row.prompt_n;
    event.timings.prompt_ms = 2;
    event.timings.predicted_n = row.produced;
    event.timings.predicted_ms = 4;
    return event;
  }

  static StepEvent advance(RequestId id, Row& row) {
    if (row.cancelled) return end(id, row, FinishReason::cancelled);
    const size_t n = row.script.steps.size();
    if (row.next == n && row.script.forever) row.next = n - 1;
    if (row.next == n) return end(id, row, row.script.finish);
    std::vector<int32_t> tokens = row.script.steps[row.next++];
    if (static_cast<int>(tokens.size()) > row.left) tokens.resize(static_cast<size_t>(row.left));
    row.left -= static_cast<int>(tokens.size());
    row.produced += static_cast<int>(tokens.size());
    StepEvent event;
    event.id = id;
    if (row.left == 0) event = end(id, row, FinishReason::length);
    event.tokens = std::move(tokens);
    return event;
  }

  const StepSink sink_;
  const Author author_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<RequestId, Row> rows_;
  std::vector<Request> seen_;
  RequestId last_id_ = 0;
  bool failed_ = false;
  std::jthread thread_;
};

}  // namespace mlxforge
