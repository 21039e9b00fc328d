#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "engine/pooling.h"

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

StepEvent cancelled(const Sequence& seq, bool last) {
  return {.id = seq.id,
          .choice = seq.choice(),
          .finish = FinishReason::cancelled,
          .timings = timings_of(seq, false),
          .last = last};
}

bool has_nan(const RowResult& result) {
  return std::ranges::any_of(
             result.prompt_logprobs,
             [](const TokenLogprobs& scored) { return std::isnan(scored.token.logprob); }) ||
         std::ranges::any_of(result.hidden, [](float x) { return std::isnan(x); });
}

Status engine_failed(const char* what) {
  return {.code = Code::internal, .message = str("the engine failed: ", what), .param = ""};
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
  seq->guide = AnswerGuide(seq->request.grammar, seq->request.reasoning);
  scheduler_.add(std::move(seq));
}

std::vector<StepEvent> Engine::cancel(RequestId id) {
  const auto seq = scheduler_.remove_any(id);
  if (!seq) return {};
  while (scheduler_.remove_any(id)) {
  }
  return {cancelled(*seq, true)};
}

std::vector<StepEvent> Engine::cancel_choice(RequestId id, uint32_t choice) {
  const auto seq = scheduler_.remove(id, choice);
  if (!seq) return {};
  return {cancelled(*seq, !scheduler_.has(id))};
}

std::vector<StepEvent> Engine::step() {
  const Batch batch = scheduler_.schedule();
  if (batch.empty()) return {};
  return commit(batch, run(batch));
}

// A throw fails only the sequence it belongs to: each runs again alone, which gives the same bits.
// Where the fault took the cache along, the step's sequences fail and all others start over.
std::vector<RowResult> Engine::run(const Batch& batch) try {
  if (before_run_) before_run_(batch);
  auto outputs = runner_.forward(batch);
  return runner_.sample(outputs, batch, options_.stop_ids);
} catch (const std::exception& e) {
  log_error("a step of ", batch.size(), " sequences failed: ", e.what());
  const bool cache_lost = runner_.recover();
  if (cache_lost) scheduler_.preempt_all();
  if (batch.size() > 1 && !cache_lost) return run_each_alone(batch);
  RowResult failed;
  failed.token.error = engine_failed(e.what());
  return std::vector<RowResult>(batch.size(), failed);
}

std::vector<RowResult> Engine::run_each_alone(const Batch& batch) {
  std::vector<RowResult> results;
  for (const auto& row : batch) results.push_back(std::move(run({row}).front()));
  return results;
}

std::vector<StepEvent> Engine::commit(const Batch& batch, std::vector<RowResult> results) {
  std::vector<StepEvent> events;
  for (size_t i = 0; i < batch.size(); ++i) {
    StepEvent event = commit_row(batch[i], std::move(results[i]));
    const bool says_something = event.finish != FinishReason::none || !event.tokens.empty() ||
                                !event.prompt_logprobs.empty();
    if (says_something) events.push_back(std::move(event));
  }
  return events;
}

StepEvent Engine::commit_row(const ScheduledRow& row, RowResult result) {
  Sequence& seq = *row.seq;
  StepEvent event{.id = seq.id, .choice = seq.choice()};
  event.error = std::move(result.token.error);
  if (has_nan(result))
    event.error = {Code::internal, "the model produced NaN logits for this request", ""};
  if (!event.error.ok()) {
    finish(seq, FinishReason::error, event);
    return event;
  }
  const bool samples = row.samples();
  pool(seq, result.hidden, row.pooled().n);
  seq.n_scored += row.n_scores();
  seq.n_computed += row.n;
  event.prompt_logprobs = std::move(result.prompt_logprobs);
  if (samples && seq.request.n > 1) start_other_choices(seq);
  // Choices to come want the last whole block of the prompt, and what its queries see.
  if (seq.request.n == 1) blocks_.release_behind_window(seq.blocks, seq.n_computed);
  if (samples) accept(seq, std::move(result.token), event);
  if (!samples && seq.n_pending() == 0) {  // max_tokens 0
    if (seq.request.pooling != Pooling::none) event.embedding = pooled(seq);
    finish(seq, FinishReason::length, event);
  }
  return event;
}

void Engine::start_other_choices(Sequence& first) {
  std::vector<std::unique_ptr<Sequence>> others;
  const int n = std::exchange(first.request.n, 1);
  for (int i = 1; i < n; ++i) {
    auto seq = std::make_unique<Sequence>();
    seq->id = first.id;
    seq->request = first.request;
    seq->request.prompt_logprobs = -1;
    seq->request.sampling.choice = first.choice() + i;
    seq->tokens = first.request.prompt;
    seq->turn = first.turn;
    seq->submitted = first.submitted;
    seq->guide = AnswerGuide(seq->request.grammar, seq->request.reasoning);
    others.push_back(std::move(seq));
  }
  scheduler_.add_choices(std::move(others));
}

void Engine::accept(Sequence& seq, SampledToken token, StepEvent& event) {
  if (seq.first_token == TimePoint{}) seq.first_token = Clock::now();
  if (seq.request.logprobs >= 0) event.logprobs.push_back(std::move(token.logprobs));
  if (is_stop(seq, token.id)) return finish(seq, FinishReason::stop, event);
  event.tokens = {token.id};
  seq.tokens.push_back(token.id);
  seq.guide.accept(token.id);
  if (seq.guide.ended()) return finish(seq, FinishReason::stop, event);
  const int limit = std::min(options_.max_ctx, blocks_.capacity());
  const bool full = seq.n_generated() >= seq.request.max_tokens || seq.n_tokens() >= limit;
  if (full) finish(seq, FinishReason::length, event);
}

bool Engine::is_stop(const Sequence& seq, int32_t token) const {
  return contains(seq.request.stop_ids, token) ||
         (!seq.request.ignore_eos && contains(options_.stop_ids, token));
}

void Engine::finish(Sequence& seq, FinishReason reason, StepEvent& event) {
  event.finish = reason;
  event.timings = timings_of(seq, reason == FinishReason::stop && !seq.guide.ended());
  scheduler_.remove(seq.id, seq.choice());  // frees seq
  event.last = !scheduler_.has(event.id);
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
