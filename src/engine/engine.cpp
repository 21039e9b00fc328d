#include "engine/engine.h"

#include <algorithm>

#include "base/log.h"

namespace mlxforge {
namespace {

bool contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

Timings timings_of(const Sequence& seq, bool stopped) {
  const auto now = Clock::now();
  Timings t;
  t.predicted_n = seq.n_generated() + stopped;
  if (seq.admitted == TimePoint{}) {
    t.queue_ms = ms_between(seq.submitted, now);
    return t;
  }
  t.queue_ms = ms_between(seq.submitted, seq.admitted);
  if (seq.first_token == TimePoint{}) {
    t.prompt_n = seq.n_computed;
    t.prompt_ms = ms_between(seq.admitted, now);
    return t;
  }
  t.prompt_n = seq.n_prompt();
  t.prompt_ms = ms_between(seq.admitted, seq.first_token);
  t.ttft_ms = ms_between(seq.submitted, seq.first_token);
  t.predicted_ms = ms_between(seq.first_token, now);
  return t;
}

// Ids that the model does not have can neither be sampled nor come: both lists forget them.
EngineSetup within_vocabulary(EngineSetup setup, int vocab) {
  setup.n_valid = std::min(setup.n_valid, vocab);
  std::erase_if(setup.stop_ids, [&](int32_t id) {
    const bool possible = id >= 0 && id < vocab;
    if (!possible) log_warn("stop token ", id, " is outside the model's ids: it can never come");
    return !possible;
  });
  return setup;
}

}  // namespace

Engine::Engine(std::unique_ptr<Decoder> decoder, Exec exec, EngineSetup setup)
    : options_(within_vocabulary(std::move(setup), decoder->spec().vocab)),
      exec_(exec),
      decoder_(std::move(decoder)),
      blocks_(decoder_->cache_groups(exec_), options_.kv_budget),
      scheduler_(options_.limits, blocks_),
      runner_(*decoder_, exec_, blocks_, options_.n_valid) {
  decoder_->allocate_cache(exec_, blocks_.blocks_total());
}

void Engine::submit(RequestId id, Request request, TimePoint submitted) {
  auto seq = std::make_unique<Sequence>();
  seq->id = id;
  seq->tokens = request.prompt;
  seq->request = std::move(request);
  seq->submitted = submitted;
  scheduler_.add(std::move(seq));
}

std::vector<StepEvent> Engine::cancel(RequestId id) {
  auto seq = scheduler_.remove(id);
  if (!seq) return {};
  return {{.id = id,
           .tokens = {},
           .finish = FinishReason::cancelled,
           .error = {},
           .timings = timings_of(*seq, false)}};
}

std::vector<StepEvent> Engine::step() {
  const Batch batch = scheduler_.schedule();
  if (batch.empty()) return {};
  return commit(batch, run(batch));
}

// A throw fails only the sequence it belongs to: each runs again alone, which gives the same bits.
// Where the fault took the cache along, the step's sequences fail and all others start over.
std::vector<SampledToken> Engine::run(const Batch& batch) try {
  if (before_run_) before_run_(batch);
  auto logits = runner_.forward(batch);
  return runner_.sample(logits, batch, options_.stop_ids);
} catch (const std::exception& e) {
  log_error("a step of ", batch.size(), " sequences failed: ", e.what());
  const bool cache_lost = runner_.recover();
  if (cache_lost) scheduler_.preempt_all();
  if (batch.size() > 1 && !cache_lost) return run_each_alone(batch);
  const SampledToken failed{
      .id = -1,
      .error = {
          .code = Code::internal, .message = str("the engine failed: ", e.what()), .param = ""}};
  return std::vector<SampledToken>(batch.size(), failed);
}

std::vector<SampledToken> Engine::run_each_alone(const Batch& batch) {
  std::vector<SampledToken> sampled;
  for (const auto& row : batch) sampled.push_back(run({row}).front());
  return sampled;
}

std::vector<StepEvent> Engine::commit(const Batch& batch,
                                      const std::vector<SampledToken>& sampled) {
  std::vector<StepEvent> events;
  for (size_t i = 0; i < batch.size(); ++i) {
    Sequence& seq = *batch[i].seq;
    if (!sampled[i].error.ok()) {
      events.push_back(finish(seq, FinishReason::error, sampled[i].error));
      continue;
    }
    const bool samples = batch[i].samples();
    seq.n_computed += batch[i].n;
    blocks_.release_behind_window(seq.blocks, seq.n_computed);
    if (samples) events.push_back(accept(seq, sampled[i].id));
  }
  return events;
}

StepEvent Engine::accept(Sequence& seq, int32_t token) {
  if (seq.first_token == TimePoint{}) seq.first_token = Clock::now();
  if (is_stop(seq, token)) return finish(seq, FinishReason::stop, {});
  seq.tokens.push_back(token);
  const int limit = std::min(options_.max_ctx, blocks_.capacity());
  const bool full = seq.n_generated() >= seq.request.max_tokens || seq.n_tokens() >= limit;
  StepEvent event = full ? finish(seq, FinishReason::length, {}) : StepEvent{.id = seq.id};
  event.tokens = {token};
  return event;
}

bool Engine::is_stop(const Sequence& seq, int32_t token) const {
  return contains(seq.request.stop_ids, token) ||
         (!seq.request.ignore_eos && contains(options_.stop_ids, token));
}

StepEvent Engine::finish(Sequence& seq, FinishReason reason, Status error) {
  StepEvent event{.id = seq.id,
                  .tokens = {},
                  .finish = reason,
                  .error = std::move(error),
                  .timings = timings_of(seq, reason == FinishReason::stop)};
  scheduler_.remove(seq.id);  // frees seq
  return event;
}

ServiceStats Engine::stats() const {
  return {.running = scheduler_.n_running(),
          .waiting = scheduler_.n_waiting(),
          .kv_blocks_total = blocks_.blocks_total(),
          .kv_blocks_used = blocks_.blocks_used()};
}

std::unique_ptr<Scoring> Engine::score(std::vector<int32_t> ids, int chunk) {
  check(idle(), "score needs an idle engine");
  return std::make_unique<Scoring>(runner_, blocks_, std::move(ids), chunk);
}

}  // namespace mlxforge
