// Decides which tokens a step runs. Sequences are served in the order of their priority; of the
// same one clients take turns, and of one client the first to come is the first served. Waiting
// requests are admitted in that order when their prompt and one more block fit; blocks grow on
// demand; when they run out the last one in that order is preempted and later resumes with the same
// tokens. Who runs gives way to nobody who waits. Owns the sequences and their blocks. Used by the
// worker thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cache/block_manager.h"
#include "engine/sequence.h"

namespace mlxforge {

struct SchedulerLimits {
  int max_batch = 0;      // sequences running at once
  int prefill_chunk = 0;  // prompt tokens in a step without decode rows
  // Prompt tokens in a step that also decodes: bounds the gap between a stream's tokens.
  int mixed_chunk = 0;
};

class Scheduler {
 public:
  Scheduler(SchedulerLimits limits, BlockManager& blocks);

  void add(std::unique_ptr<Sequence> seq);  // REQUIRES blocks.could_hold(prompt + 1)
  // More choices of a request that runs and has its prompt computed: they share its place in
  // the order, and those for whom there is room start at once with the prompt's whole blocks
  // shared.
  void add_choices(std::vector<std::unique_ptr<Sequence>> choices);
  // Every decoding sequence's token, then prompt chunks. Empty when nothing runs.
  Batch schedule();
  // The sequence leaves, its blocks are free. Null for an unknown one.
  std::unique_ptr<Sequence> remove(RequestId id, uint32_t choice);
  // The same for any choice of the request.
  std::unique_ptr<Sequence> remove_any(RequestId id);
  bool has(RequestId id) const;
  // All running sequences lose their blocks and wait again, in order: their cache is gone.
  void preempt_all();

  int n_running() const { return static_cast<int>(running_.size()); }
  int n_waiting() const { return static_cast<int>(waiting_.size()); }
  bool idle() const { return running_.empty() && waiting_.empty(); }
  const std::vector<std::unique_ptr<Sequence>>& running() const { return running_; }

 private:
  using Queue = std::deque<std::unique_ptr<Sequence>>;

  void admit();
  bool give_blocks(Sequence& seq);
  void share_prompt(Sequence& seq);
  std::unique_ptr<Sequence> remove_if(const std::function<bool(const Sequence&)>& wanted);
  bool make_room(Sequence& seq, int n_tokens);
  void preempt_last();
  void schedule_decodes(Batch& batch);
  void schedule_prefills(Batch& batch);

  SchedulerLimits limits_;
  BlockManager& blocks_;
  // Both in the order of service.
  Queue waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;
  uint64_t turn_ = 0;                                 // the last one admitted
  std::unordered_map<uint32_t, uint64_t> next_turn_;  // of each client
};

}  // namespace mlxforge
