// Picks a token from each row of logits. Owned by the worker thread; rows are shared out over its
// pool.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "base/threads.h"
#include "kernels/cpu/sample.h"
#include "sampling/logit_processors.h"
#include "sampling/params.h"

namespace mlxforge {

struct SampledToken {
  int32_t id = -1;
  Status error;  // not ok when the row has no usable logits
};

struct SampleRow {
  std::span<float> logits;  // (vocab); processors and bans change it
  const SamplingParams* params = nullptr;
  TokenHistory history;
  std::vector<int32_t> banned;  // ids in [0, vocab) that may not be sampled now
  SampledToken* result = nullptr;
};

class Sampler {
 public:
  // Ids at or above n_valid (the tokenizer's size) are never sampled.
  Sampler(int n_valid, ThreadPool& pool);

  void sample(std::span<const SampleRow> rows);

 private:
  // Of one thread.
  struct Scratch {
    cpu::SampleScratch candidates;
    ProcessorScratch processors;
  };
  SampledToken sample_one(const SampleRow& row, Scratch& scratch) const;

  int n_valid_;
  ThreadPool& pool_;
  std::vector<Scratch> scratch_;
};

}  // namespace mlxforge
