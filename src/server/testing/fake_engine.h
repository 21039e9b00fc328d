// An engine without a model, for tests: each choice of an accepted request follows a script, one
// entry a step. Log-probabilities are fake_logprobs of the token.
// Steps run on a thread of its own, or one by one with step(). Like the real one it holds no lock
// while it calls the sink.
#pragma once

#include <algorithm>
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

// Digits are likelier the greater they are.
inline TokenLogprobs fake_logprobs(int32_t id, int n_top) {
  const bool digit = id >= '0' && id <= '9';
  TokenLogprobs out{.token = {id, digit ? -1.0f / (id - '0' + 1) : -0.5f}, .rank = 1};
  for (int i = 0; i < n_top; ++i) out.top.push_back({(id + i) % 256, -0.5f - 0.25f * i});
  return out;
}

// Prompts that begin alike have similar ones.
inline std::vector<float> fake_embedding(const std::vector<int32_t>& prompt) {
  std::vector<float> out = {1, 2, 3, 4};
  for (size_t i = 0; i < 4 && i < prompt.size(); ++i) out[i] += static_cast<float>(prompt[i]);
  return out;
}

class FakeEngine : public EngineService {
 public:
  struct Limits {
    int max_ctx = 4096;
    int slots = 4;
    int max_waiting = 256;
  };
  // The script of a choice (request.sampling.choice). Called at submit.
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
      for (auto& [key, row] : rows_)
        if (row.cancelled || places-- > 0) events.push_back(advance(key, row));
      for (StepEvent& event : events) {
        if (event.finish == FinishReason::none) continue;
        rows_.erase({event.id, event.choice});
        event.last =
            std::ranges::none_of(rows_, [&](auto& r) { return r.first.first == event.id; });
      }
    }
    if (!events.empty()) sink_(std::move(events));
  }

  Result<RequestId> submit(Request request) override {
    std::lock_guard lock(mutex_);
    if (failed_) return Status{Code::unavailable, "the engine has failed", ""};
    const auto n = static_cast<int>(request.prompt.size());
    if (request.least_tokens() > limits_.max_ctx)
      return Status{Code::context_exceeded,
                    str("the prompt has ", n, " tokens, the context ", limits_.max_ctx), "prompt"};
    if (static_cast<int>(rows_.size()) >= limits_.slots + limits_.max_waiting)
      return Status{Code::queue_full, "the waiting queue is full", ""};
    ++last_id_;
    seen_.push_back(request);
    for (int choice = 0; choice < seen_.back().n; ++choice) {
      request.sampling.choice = choice;
      rows_.emplace(Key{last_id_, choice},
                    Row{.script = author_(request),
                        .request = request,
                        .left = std::min(request.max_tokens, limits_.max_ctx - n)});
    }
    return RequestId{last_id_};
  }

  void cancel(RequestId id) override {
    std::lock_guard lock(mutex_);
    for (auto& [key, row] : rows_) row.cancelled |= key.first == id;
  }
  void cancel_choice(RequestId id, uint32_t choice) override {
    std::lock_guard lock(mutex_);
    if (const auto found = rows_.find({id, choice}); found != rows_.end())
      found->second.cancelled = true;
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
      for (auto& [key, row] : rows_) events.push_back(end(key, row, FinishReason::error));
      rows_.clear();
    }
    sink_(std::move(events));
  }

 private:
  using Key = std::pair<RequestId, uint32_t>;  // and the choice

  struct Row {
    Script script;
    Request request;
    int left = 0;  // tokens that it may still produce
    size_t next = 0;
    int produced = 0;
    bool cancelled = false;
  };

  static StepEvent event_of(const Key& key) {
    StepEvent event;
    event.id = key.first;
    event.choice = key.second;
    return event;
  }

  static StepEvent end(const Key& key, const Row& row, FinishReason finish) {
    StepEvent event = event_of(key);
    event.finish = finish;
    event.error = row.script.error;
    event.timings.prompt_n = static_cast<int>(row.request.prompt.size());
    event.timings.prompt_ms = 2;
    event.timings.predicted_n = row.produced;
    event.timings.predicted_ms = 4;
    event.last = true;
    return event;
  }

  static void score_prompt(const Row& row, StepEvent& event) {
    const Request& r = row.request;
    if (r.prompt_logprobs < 0 || event.choice > 0) return;
    for (size_t i = 1; i < r.prompt.size(); ++i)
      event.prompt_logprobs.push_back(fake_logprobs(r.prompt[i], r.prompt_logprobs));
  }

  static StepEvent advance(const Key& key, Row& row) {
    if (row.cancelled) return end(key, row, FinishReason::cancelled);
    const size_t n = row.script.steps.size();
    if (row.next == n && row.script.forever) row.next = n - 1;
    const bool first = row.produced == 0;
    StepEvent event = event_of(key);
    if (row.left == 0 || row.next == n) {
      event = end(key, row, row.left == 0 ? FinishReason::length : row.script.finish);
      if (first) score_prompt(row, event);
      if (row.request.pooling != Pooling::none)
        event.embedding = fake_embedding(row.request.prompt);
      return event;
    }
    std::vector<int32_t> tokens = row.script.steps[row.next++];
    if (static_cast<int>(tokens.size()) > row.left) tokens.resize(static_cast<size_t>(row.left));
    row.left -= static_cast<int>(tokens.size());
    row.produced += static_cast<int>(tokens.size());
    if (row.left == 0) event = end(key, row, FinishReason::length);
    if (first) score_prompt(row, event);
    if (row.request.logprobs >= 0)
      for (const int32_t id : tokens)
        event.logprobs.push_back(fake_logprobs(id, row.request.logprobs));
    event.tokens = std::move(tokens);
    return event;
  }

  const StepSink sink_;
  const Author author_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<Key, Row> rows_;
  std::vector<Request> seen_;
  RequestId last_id_ = 0;
  bool failed_ = false;
  std::jthread thread_;
};

}  // namespace mlxforge
