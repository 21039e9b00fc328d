#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace mlxforge {

Scheduler::Scheduler(SchedulerLimits limits, BlockManager& blocks)
    : limits_(limits), blocks_(blocks) {
  check(limits.max_batch > 0 && limits.prefill_chunk > 0 && limits.mixed_chunk > 0,
        "scheduler limits");
}

void Scheduler::add(std::unique_ptr<Sequence> seq) {
  check(blocks_.could_hold(seq->n_tokens() + 1), "a prompt of ", seq->n_tokens(),
        " tokens that the cache can never hold");
  waiting_.push_back(std::move(seq));
}

Batch Scheduler::schedule() {
  admit();
  Batch batch;
  schedule_decodes(batch);
  schedule_prefills(batch);
  return batch;
}

void Scheduler::admit() {
  while (!waiting_.empty() && n_running() < limits_.max_batch) {
    Sequence& next = *waiting_.front();
    // All its tokens and one more block, so that it does not preempt somebody at once.
    const int wanted = std::min(next.n_tokens() + kBlockTokens, blocks_.capacity());
    if (!blocks_.can_hold(wanted)) return;
    check(blocks_.grow(next.blocks, next.n_tokens()), "no room for an admitted sequence");
    if (next.n_generated() == 0) next.admitted = Clock::now();
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void Scheduler::preempt_youngest() {
  blocks_.release(running_.back()->blocks);
  running_.back()->n_computed = 0;
  waiting_.push_front(std::move(running_.back()));
  running_.pop_back();
}

void Scheduler::preempt_all() {
  while (!running_.empty()) preempt_youngest();
}

// False when `seq` itself had to go.
bool Scheduler::make_room(Sequence& seq, int n_tokens) {
  while (!blocks_.grow(seq.blocks, n_tokens)) {
    const bool itself = running_.back().get() == &seq;
    preempt_youngest();
    if (itself) return false;
  }
  return true;
}

void Scheduler::schedule_decodes(Batch& batch) {
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence& seq = *running_[i];
    if (seq.decoding() && make_room(seq, seq.n_tokens())) batch.push_back({&seq, 1});
  }
}

// Oldest first, but the shortest prompt left gets a quarter of the chunk, so that a short request
// never waits for all long ones before it.
void Scheduler::schedule_prefills(Batch& batch) {
  std::vector<Sequence*> prefills;
  for (const auto& seq : running_) {
    if (!seq->decoding()) prefills.push_back(seq.get());
  }
  if (prefills.empty()) return;
  int budget = batch.empty() ? limits_.prefill_chunk : limits_.mixed_chunk;
  const auto shortest = std::ranges::min_element(prefills, {}, &Sequence::n_pending);
  const int reserved = shortest == prefills.begin()
                           ? 0
                           : std::min((*shortest)->n_pending(), std::max(1, budget / 4));
  budget -= reserved;
  for (Sequence* seq : prefills) {
    const int extra = seq == *shortest ? reserved : 0;
    const int n = std::min(seq->n_pending(), budget + extra);
    if (n > 0) batch.push_back({seq, n});
    budget -= std::max(0, n - extra);
  }
}

std::unique_ptr<Sequence> Scheduler::remove(RequestId id) {
  const auto take = [&](auto& queue) -> std::unique_ptr<Sequence> {
    const auto it = std::ranges::find(queue, id, [](const auto& seq) { return seq->id; });
    if (it == queue.end()) return nullptr;
    auto seq = std::move(*it);
    queue.erase(it);
    return seq;
  };
  auto seq = take(running_);
  if (!seq) seq = take(waiting_);
  if (seq) blocks_.release(seq->blocks);
  return seq;
}

}  // namespace mlxforge
