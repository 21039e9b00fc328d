#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace mlxforge {
namespace {

// A row of logits is as wide as the vocabulary, so a step has no more rows than these for the
// sequences that score their prompts.
constexpr int kScoredRows = 128;

// Who is served before whom.
std::pair<int, uint64_t> order_of(const std::unique_ptr<Sequence>& seq) {
  return {seq->request.priority, seq->turn};
}

}  // namespace

Scheduler::Scheduler(SchedulerLimits limits, BlockManager& blocks)
    : limits_(limits), blocks_(blocks) {
  check(limits.max_batch > 0 && limits.prefill_chunk > 0 && limits.mixed_chunk > 0,
        "scheduler limits");
}

// Start-time fair queuing (Goyal et al., 1996), every request costing one turn: a client's next
// request stands behind as many of each other client as it has waiting itself.
void Scheduler::add(std::unique_ptr<Sequence> seq) {
  check(blocks_.could_hold(seq->request.least_tokens()), "a prompt of ", seq->n_tokens(),
        " tokens that the cache can never hold");
  uint64_t& next = next_turn_[seq->request.client];
  seq->turn = std::max(turn_, next);
  next = seq->turn + 1;
  waiting_.insert(std::ranges::upper_bound(waiting_, order_of(seq), {}, order_of), std::move(seq));
}

Batch Scheduler::schedule() {
  admit();
  Batch batch;
  schedule_decodes(batch);
  schedule_prefills(batch);
  return batch;
}

void Scheduler::add_choices(std::vector<std::unique_ptr<Sequence>> choices) {
  const auto place = std::ranges::lower_bound(waiting_, order_of(choices.front()), {}, order_of);
  waiting_.insert(place, std::make_move_iterator(choices.begin()),
                  std::make_move_iterator(choices.end()));
  admit();
}

void Scheduler::admit() {
  while (!waiting_.empty() && n_running() < limits_.max_batch) {
    Sequence& next = *waiting_.front();
    if (!give_blocks(next)) return;
    if (next.n_generated() == 0) next.admitted = Clock::now();
    turn_ = std::max(turn_, next.turn);
    const auto order = order_of(waiting_.front());
    const auto place = std::ranges::upper_bound(running_, order, {}, order_of);
    running_.insert(place, std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

// False, and it holds none, when there is no room. A waiting sequence never holds blocks, so those
// that run can always be served.
bool Scheduler::give_blocks(Sequence& seq) {
  share_prompt(seq);
  // All its tokens and one more block, so that it does not preempt somebody at once.
  const int wanted = std::min(seq.n_tokens() + kBlockTokens, blocks_.capacity());
  if (blocks_.can_grow(seq.blocks, wanted)) return blocks_.grow(seq.blocks, seq.n_tokens());
  blocks_.release(seq.blocks);
  seq.n_computed = 0;
  return false;
}

// The blocks of the prompt, all but its last token, that another choice of the request has
// computed.
void Scheduler::share_prompt(Sequence& seq) {
  const int n = (seq.n_prompt() - 1) / kBlockTokens * kBlockTokens;
  const auto shares = [&](const auto& other) {
    return other->id == seq.id && other->n_computed >= n &&
           blocks_.share(other->blocks, n, seq.blocks);
  };
  if (n > 0 && std::ranges::any_of(running_, shares)) seq.n_computed = n;
}

void Scheduler::preempt_last() {
  std::unique_ptr<Sequence> seq = std::move(running_.back());
  running_.pop_back();
  blocks_.release(seq->blocks);
  seq->n_computed = 0;
  waiting_.insert(std::ranges::lower_bound(waiting_, order_of(seq), {}, order_of), std::move(seq));
}

void Scheduler::preempt_all() {
  while (!running_.empty()) preempt_last();
}

// False when `seq` itself had to go.
bool Scheduler::make_room(Sequence& seq, int n_tokens) {
  while (!blocks_.grow(seq.blocks, n_tokens)) {
    const bool itself = running_.back().get() == &seq;
    preempt_last();
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
  int scored_budget = kScoredRows;
  for (Sequence* seq : prefills) {
    const int extra = seq == *shortest ? reserved : 0;
    int n = std::min(seq->n_pending(), budget + extra);
    if (seq->n_unscored() > 0) {
      n = std::min(n, scored_budget);
      scored_budget -= std::max(0, n);
    }
    if (n > 0) batch.push_back({seq, n});
    budget -= std::max(0, n - extra);
  }
}

std::unique_ptr<Sequence> Scheduler::remove(RequestId id, uint32_t choice) {
  return remove_if([&](const Sequence& seq) { return seq.id == id && seq.choice() == choice; });
}

std::unique_ptr<Sequence> Scheduler::remove_any(RequestId id) {
  return remove_if([&](const Sequence& seq) { return seq.id == id; });
}

std::unique_ptr<Sequence> Scheduler::remove_if(const std::function<bool(const Sequence&)>& wanted) {
  const auto take = [&](auto& queue) -> std::unique_ptr<Sequence> {
    const auto it = std::ranges::find_if(queue, [&](const auto& seq) { return wanted(*seq); });
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

bool Scheduler::has(RequestId id) const {
  const auto is_it = [&](const auto& seq) { return seq->id == id; };
  return std::ranges::any_of(running_, is_it) || std::ranges::any_of(waiting_, is_it);
}

}  // namespace mlxforge
