// Softmax attention with grouped keys and values (GQA), rotary positions and a paged KV pool. Cache
// group: full, or its window.
#pragma once

#include "kernels/paged_attention.h"
#include "kernels/rope_append.h"
#include "kernels/weight.h"
#include "layers/mixer.h"

namespace mlxforge {

struct AttentionWeights {
  Norm norm;
  Linear qkv;
  Linear output;
};

class AttentionMixer : public Mixer {
 public:
  AttentionMixer(AttentionWeights weights, AttentionShape shape, Rope rope, AttentionParams params,
                 int group);

  mx::array forward(const Exec& exec, const mx::array& x, const Step& step) override;
  size_t block_bytes(mx::Dtype kv) const override;
  void allocate(mx::Dtype kv, int n_blocks) override;
  std::vector<mx::array> state() const override;

 private:
  AttentionWeights weights_;
  AttentionShape shape_;
  Rope rope_;
  AttentionParams params_;
  int group_;  // index into Step::groups
  std::optional<KvPool> pool_;
};

}  // namespace mlxforge
