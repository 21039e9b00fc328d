#include "engine/worker.h"

#include <algorithm>

#include "base/log.h"

namespace mlxforge {

Worker::Worker(Load load, int max_waiting, StepSink sink)
    : max_waiting_(max_waiting), sink_(std::move(sink)), ready_(loaded_.get_future()) {
  stats_.max_waiting = max_waiting;
  thread_ = std::thread([this, load = std::move(load)] { main(load); });
}

Worker::~Worker() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Worker::wait_ready() { ready_.get(); }

Status Worker::check_ids(const std::vector<int32_t>& ids, const char* param) const {
  for (const int32_t id : ids) {
    if (id < 0 || id >= limits_.vocab) {
      return Status::invalid(str("token id ", id, " is outside the vocabulary of ", limits_.vocab),
                             param);
    }
  }
  return {};
}

Status Worker::admissible(const Request& request) const {
  const int n = static_cast<int>(request.prompt.size());
  if (n == 0) return Status::invalid("the prompt is empty", "prompt");
  if (Status status = check_ids(request.prompt, "prompt"); !status.ok()) return status;
  if (Status status = check_ids(request.stop_ids, "stop_token_ids"); !status.ok()) return status;
  const int least = request.least_tokens();
  if (least > limits_.max_ctx) {
    return {Code::context_exceeded,
            str("the context is ", limits_.max_ctx, " tokens and the prompt is ", n,
                ": shorten the prompt by at least ", least - limits_.max_ctx),
            "prompt"};
  }
  if (least > limits_.capacity) {
    return {Code::context_exceeded,
            str("the KV cache holds ", limits_.capacity, " tokens and the prompt is ", n,
                ": shorten the prompt, or start the server with a larger --kv-budget"),
            "prompt"};
  }
  return {};
}

Result<RequestId> Worker::submit(Request request) {
  if (!loaded_ok_) return Status{Code::unavailable, "the model is not loaded", ""};
  if (Status status = admissible(request); !status.ok()) return status;
  RequestId id;
  {
    std::lock_guard lock(mutex_);
    if (stats_.failed || stop_) return Status{Code::unavailable, "the engine has stopped", ""};
    if (stats_.waiting + n_submitted_ >= max_waiting_) {
      return Status{Code::queue_full,
                    str(max_waiting_, " requests are waiting already; try again later"), ""};
    }
    id = next_id_++;
    live_.insert(id);
    ++n_submitted_;
    auto submit = [id, request = std::move(request), at = Clock::now()](Engine& engine) mutable {
      engine.submit(id, std::move(request), at);
      return std::vector<StepEvent>{};
    };
    commands_.push_back({.run = std::move(submit), .submits = true});
  }
  wake_.notify_one();
  return id;
}

void Worker::cancel(RequestId id) {
  enqueue_for(id, [id](Engine& engine) { return engine.cancel(id); });
}

void Worker::cancel_choice(RequestId id, uint32_t choice) {
  enqueue_for(id, [=](Engine& engine) { return engine.cancel_choice(id, choice); });
}

void Worker::enqueue_for(RequestId id, std::function<std::vector<StepEvent>(Engine&)> run) {
  {
    std::lock_guard lock(mutex_);
    if (!live_.contains(id)) return;
    commands_.push_back({.run = std::move(run)});
  }
  wake_.notify_one();
}

void Worker::call(const std::function<void(Engine&)>& f) {
  // Owned by the command: if the engine dies before it runs, the promise breaks and get() throws.
  auto task = std::make_shared<std::packaged_task<void(Engine&)>>(f);
  auto done = task->get_future();
  {
    std::lock_guard lock(mutex_);
    if (stats_.failed) throw Error("[engine] the engine has stopped");
    commands_.push_back({.run = [task = std::move(task)](Engine& engine) {
      (*task)(engine);
      return std::vector<StepEvent>{};
    }});
  }
  wake_.notify_one();
  done.get();
}

ServiceStats Worker::stats() const {
  std::lock_guard lock(mutex_);
  ServiceStats stats = stats_;
  stats.waiting += n_submitted_;
  return stats;
}

void Worker::main(const Load& load) {
  std::unique_ptr<Engine> engine;
  try {
    engine = load();
    limits_ = {engine->spec().vocab, engine->options().max_ctx, engine->capacity()};
    {
      std::lock_guard lock(mutex_);
      stats_ = engine->stats();
      stats_.max_waiting = max_waiting_;
    }
    loaded_ok_ = true;
    loaded_.set_value();
  } catch (...) {
    loaded_.set_exception(std::current_exception());
    return;
  }
  try {
    serve(*engine);
  } catch (const std::exception& e) {
    fail_all(e.what());
  } catch (...) {
    fail_all("an unknown exception");
  }
}

void Worker::serve(Engine& engine) {
  while (true) {
    std::deque<Command> commands = next_commands(engine);
    if (stopping()) return;
    std::vector<StepEvent> events;
    const auto append = [&](std::vector<StepEvent> more) {
      events.insert(events.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
    };
    for (auto& command : commands) append(command.run(engine));
    append(engine.step());
    publish(engine);
    deliver(std::move(events));
  }
}

// Waits while there is nothing to do, and takes the queue.
std::deque<Worker::Command> Worker::next_commands(const Engine& engine) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stop_ || !commands_.empty() || !engine.idle(); });
  return std::exchange(commands_, {});
}

bool Worker::stopping() {
  std::lock_guard lock(mutex_);
  return stop_;
}

// Before the events go out, so that whoever hears of an end finds it in stats().
void Worker::publish(const Engine& engine) {
  std::lock_guard lock(mutex_);
  stats_ = engine.stats();
  stats_.max_waiting = max_waiting_;
  n_submitted_ = static_cast<int>(std::ranges::count(commands_, true, &Command::submits));
}

void Worker::deliver(std::vector<StepEvent> events) {
  if (events.empty()) return;
  {
    std::lock_guard lock(mutex_);
    for (const auto& event : events) {
      if (event.last) live_.erase(event.id);
    }
  }
  sink_(std::move(events));
}

void Worker::fail_all(const std::string& why) {
  log_error("the engine has stopped: ", why);
  std::vector<StepEvent> events;
  {
    std::lock_guard lock(mutex_);
    stats_.failed = true;
    commands_.clear();
    for (const RequestId id : live_) {
      events.push_back({.id = id,
                        .finish = FinishReason::error,
                        .error = {Code::internal, str("the engine has stopped: ", why), ""},
                        .last = true});
    }
  }
  deliver(std::move(events));
}

}  // namespace mlxforge
