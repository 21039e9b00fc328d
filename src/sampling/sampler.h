// Picks a token from each row of logits. Owned by the worker thread; rows are shared out over its
// pool.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "base/threads.h"
#include "kernels/cpu/sample.h"
#include "sampling/logit_processors.h"
#include "sampling/logprobs.h"
#include "sampling/params.h"

namespace mlxforge {

struct SampledToken {
  int32_t id = -1;
  Status error;            // not ok when the row has no usable logits
  TokenLogprobs logprobs;  // when the row asked for them
};

struct SampleRow {
  std::span<float> logits;  // (vocab); processors and bans change it
  const SamplingParams* params = nullptr;
  TokenHistory history;
  std::span<const uint32_t> allowed;  // a grammar's mask (token_mask.h); empty: all
  std::vector<int32_t> banned;        // ids in [0, vocab) that may not be sampled now
  int n_logprobs = -1;  // how many likeliest to name beside the chosen one; -1: nothing
  SampledToken* result = nullptr;
};

// A row whose next token is known.
struct ScoreRow {
  std::span<const float> logits;  // (vocab)
  int32_t id = 0;
  int n_logprobs = 0;
  TokenLogprobs* result = nullptr;
};

class Sampler {
 public:
  // Ids at or above n_valid (the tokenizer's size) are never sampled.
  Sampler(int n_valid, ThreadPool& pool);

  void sample(std::span<const SampleRow> rows);
  void score(std::span<const ScoreRow> rows);

 private:
  // Of one thread.
  struct Scratch {
    cpu::SampleScratch candidates;
    ProcessorScratch processors;
    std::vector<float> raw;  // the row before processors
  };
  SampledToken choose(const SampleRow& row, Scratch& scratch) const;
  SampledToken sample_one(const SampleRow& row, Scratch& scratch) const;

  int n_valid_;
  ThreadPool& pool_;
  std::vector<Scratch> scratch_;
};

}  // namespace mlxforge
