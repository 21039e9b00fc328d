// Picks a token from each row of logits. Owned by the worker thread; rows are shared out over its
// pool.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "base/threads.h"
#include "kernels/cpu/sample.h"
#include "sampling/params.h"

namespace mlxforge {

struct SampledToken {
  int32_t id = -1;
  Status error;  // not ok when the row has no usable logits
};

struct SampleRow {
  std::span<float> logits;  // (vocab); banned ids are overwritten
  SamplingParams params;
  uint32_t output_index = 0;    // tokens this request has generated before
  std::vector<int32_t> banned;  // ids in [0, vocab) that may not be sampled now
  SampledToken* result = nullptr;
};

class Sampler {
 public:
  // Ids at or above n_valid (the tokenizer's size) are never sampled.
  Sampler(int n_valid, ThreadPool& pool);

  void sample(std::span<const SampleRow> rows);

 private:
  cpu::Sampled draw(const SampleRow& row, cpu::SampleScratch& scratch) const noexcept;

  int n_valid_;
  ThreadPool& pool_;
  std::vector<cpu::SampleScratch> scratch_;  // per thread
};

}  // namespace mlxforge
