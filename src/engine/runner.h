// Turns a scheduled batch into arrays, runs the model on it and samples. Owned by the worker
// thread.
//
// A step is two submissions, forward and sample, so that a device with in-place kernels of its own
// can queue the forward pass of step t+1 before the tokens of step t are read, and sample only from
// committed state. No path does yet: CPU kernels are eager (the work is done when forward returns),
// the reference path waits for its one evaluation in forward.
#pragma once

#include <vector>

#include "cache/block_manager.h"
#include "engine/sequence.h"
#include "models/decoder.h"
#include "sampling/sampler.h"

namespace mlxforge {

// What a step found out for a scheduled sequence. The token is empty (id -1, no error) where none
// was sampled.
struct RowResult {
  SampledToken token;
  std::vector<TokenLogprobs> prompt_logprobs;  // of its next prompt tokens, where they are wanted
  std::vector<float> hidden;                   // (n, d_model) of ScheduledRow::pooled
};

class Runner {
 public:
  // All must outlive the runner. Sampled ids stay below n_valid.
  Runner(Decoder& decoder, const Exec& exec, const BlockManager& blocks, int n_valid);

  // Of every scheduled sequence, in order: the logits of the rows that score its prompt, then of
  // the last row if it samples; the hidden states that it pools.
  DecoderOutputs forward(const Batch& batch);
  // One result per scheduled sequence.
  std::vector<RowResult> sample(DecoderOutputs& outputs, const Batch& batch,
                                const std::vector<int32_t>& model_stop_ids);

  // Logits (n, vocab) of every row of one sequence's next n tokens: scoring, not generation.
  mx::array score(const ScheduledRow& row);

  // After a fault: waits until MLX is quiet. Returns true when the cache's contents are lost.
  bool recover();

 private:
  Step make_step(const Batch& batch) const;
  DecoderOutputs run(const Step& step);

  Decoder& decoder_;
  const Exec& exec_;
  const BlockManager& blocks_;
  Sampler sampler_;
};

}  // namespace mlxforge
