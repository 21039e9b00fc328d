// The one transformer: a ModelSpec bound to weights. Owned and used by the worker thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cache/block_manager.h"
#include "kernels/head.h"
#include "layers/feed_forward.h"
#include "layers/mixer.h"
#include "models/checkpoint.h"
#include "models/spec.h"

namespace mlxforge {

struct DecoderLayer {
  std::unique_ptr<Mixer> mixer;
  FeedForward feed_forward;
};

struct DecoderOutputs {
  mx::array logits;  // (step.logit_rows, vocab) f32
  mx::array hidden;  // (step.hidden_rows, d_model) f32: after the last norm
};

class Decoder {
 public:
  // Loads every weight in the form that exec's kernels read; `progress` hears (layers done, layers
  // in all). Throws Error when the checkpoint lacks a tensor, has one too many, or one of another
  // shape.
  Decoder(ModelSpec spec, Checkpoint& checkpoint, const Exec& exec,
          const std::function<void(int, int)>& progress);

  const ModelSpec& spec() const { return spec_; }
  // The cache groups of Step::groups, in order.
  std::vector<CacheGroup> cache_groups(const Exec& exec) const;
  void allocate_cache(const Exec& exec, int n_blocks);

  // Afterwards the cache holds the step's tokens.
  DecoderOutputs forward(const Exec& exec, const Step& step);
  std::vector<mx::array> state() const;

 private:
  ModelSpec spec_;
  std::vector<int> group_windows_;  // distinct windows of the layers: the cache groups
  PackedWeight embedding_;
  std::vector<DecoderLayer> layers_;
  Norm norm_;
  Linear head_;
};

}  // namespace mlxforge
