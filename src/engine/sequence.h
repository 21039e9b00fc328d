// One choice of a request on its way through the engine: plain state, owned by the Scheduler.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "cache/block_manager.h"
#include "engine/service.h"
#include "text/answer_guide.h"

namespace mlxforge {

struct Sequence {
  RequestId id = 0;
  Request request;              // its n: of the first choice until the others exist, else 1
  std::vector<int32_t> tokens;  // the prompt, then what was generated
  int n_computed = 0;           // tokens whose keys and values are in the cache
  int n_scored = 1;  // prompt tokens whose log-probabilities are known; the first has none
  std::vector<double> pooled_sum;  // of the hidden states that pooling has taken in
  int n_pooled = 0;
  BlockTables blocks;
  AnswerGuide guide;  // of the request's grammar and reasoning
  uint64_t turn = 0;  // its place among those of its priority, see Scheduler::add

  TimePoint submitted, admitted, first_token;

  int n_tokens() const { return static_cast<int>(tokens.size()); }
  uint32_t choice() const { return request.sampling.choice; }
  int n_prompt() const { return static_cast<int>(request.prompt.size()); }
  int n_generated() const { return n_tokens() - n_prompt(); }
  int n_pending() const { return n_tokens() - n_computed; }  // 1 when decoding
  bool decoding() const { return n_generated() > 0 && n_pending() == 1; }
  // The prompt tokens that are still to be scored.
  int n_unscored() const { return request.prompt_logprobs < 0 ? 0 : n_prompt() - n_scored; }
};

// A sequence's part of a step: its tokens n_computed .. n_computed + n - 1.
struct ScheduledRow {
  Sequence* seq = nullptr;
  int n = 0;
  // Only the row of the last token that is known so far is sampled.
  bool samples() const { return n == seq->n_pending() && seq->request.max_tokens > 0; }
  // The logits of position i score prompt token i + 1: from seq->n_scored on, as far as this step
  // goes.
  int n_scores() const {
    const int end = std::min(seq->n_computed + n, seq->n_prompt() - 1);
    return seq->n_unscored() > 0 ? std::max(0, end - (seq->n_scored - 1)) : 0;
  }
  // The positions of this step whose hidden states are pooled; those pooled before a preemption
  // are not pooled again.
  struct Positions {
    int begin, n;
  };
  Positions pooled() const {
    const Pooling pooling = seq->request.pooling;
    const int wanted = pooling == Pooling::last ? seq->n_prompt() - 1 : 0;
    const int end = pooling == Pooling::none ? 0 : pooling == Pooling::first ? 1 : seq->n_prompt();
    const int begin = std::max(seq->n_computed, wanted + seq->n_pooled);
    return {begin, std::max(0, std::min(end, seq->n_computed + n) - begin)};
  }
};

using Batch = std::vector<ScheduledRow>;

}  // namespace mlxforge
