// The engine: requests in, events out, a step at a time. Owned and driven by the worker thread
// (worker.h); nothing here blocks or locks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/runner.h"
#include "engine/scheduler.h"
#include "engine/scoring.h"
#include "engine/service.h"

namespace mlxforge {

struct EngineSetup {
  SchedulerLimits limits;
  size_t kv_budget = 0;           // bytes
  int max_ctx = 0;                // tokens, prompt and output together
  int n_valid = 0;                // ids the sampler may choose: the tokenizer's size, or vocab
  std::vector<int32_t> stop_ids;  // the model's stop set
};

class Engine {
 public:
  // Allocates the cache. The exec's pool and workspace must outlive the engine.
  Engine(std::unique_ptr<Decoder> decoder, Exec exec, EngineSetup setup);

  // REQUIRES that limits() admit the request.
  void submit(RequestId id, Request request, TimePoint submitted);
  // The event that says so, unless there is nothing to cancel.
  std::vector<StepEvent> cancel(RequestId id);
  std::vector<StepEvent> cancel_choice(RequestId id, uint32_t choice);
  // Runs one batch and says what came of it; throws only when the engine is beyond repair.
  std::vector<StepEvent> step();

  bool idle() const { return scheduler_.idle(); }
  ServiceStats stats() const;
  const EngineSetup& options() const { return options_; }
  const ModelSpec& spec() const { return decoder_->spec(); }
  const Exec& exec() const { return exec_; }
  int capacity() const { return blocks_.capacity(); }  // tokens the cache holds

  // Tests inject faults here: called before every run of a batch, may throw.
  void set_before_run(std::function<void(const Batch&)> hook) { before_run_ = std::move(hook); }

  // Teacher-forced logits of ids, `chunk` rows at a time. REQUIRES idle() as long as it lives.
  std::unique_ptr<Scoring> score(std::vector<int32_t> ids, int chunk);

 private:
  std::vector<RowResult> run(const Batch& batch);
  std::vector<RowResult> run_each_alone(const Batch& batch);
  std::vector<StepEvent> commit(const Batch& batch, std::vector<RowResult> results);
  StepEvent commit_row(const ScheduledRow& row, RowResult result);
  void start_other_choices(Sequence& first);
  void accept(Sequence& seq, SampledToken token, StepEvent& event);
  bool is_stop(const Sequence& seq, int32_t token) const;
  void finish(Sequence& seq, FinishReason reason, StepEvent& event);

  EngineSetup options_;
  Exec exec_;
  std::unique_ptr<Decoder> decoder_;
  BlockManager blocks_;
  Scheduler scheduler_;
  Runner runner_;
  std::function<void(const Batch&)> before_run_;
};

}  // namespace mlxforge
