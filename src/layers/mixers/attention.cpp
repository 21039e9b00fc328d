#include "layers/mixers/attention.h"

#include "cache/block_pool.h"
#include "kernels/linear_residual.h"
#include "kernels/norm_linear.h"

namespace mlxforge {

AttentionMixer::AttentionMixer(AttentionWeights weights, AttentionShape shape, Rope rope,
                               AttentionParams params, int group)
    : weights_(std::move(weights)),
      shape_(shape),
      rope_(std::move(rope)),
      params_(std::move(params)),
      group_(group) {}

mx::array AttentionMixer::forward(const Exec& exec, const mx::array& x, const Step& step) {
  const AttentionBatch& batch = step.groups[group_];
  const auto qkv = norm_linear(exec, x, weights_.norm, weights_.qkv);
  const auto q = rope_append(exec, qkv, shape_, rope_, step.positions, *pool_, batch.slots);
  const auto y = paged_attention(exec, q, *pool_, batch, shape_, params_);
  return linear_residual(exec, y, weights_.output, x);
}

size_t AttentionMixer::block_bytes(mx::Dtype kv) const {
  return size_t(kBlockTokens) * shape_.n_kv * (shape_.d_k + shape_.d_v) * mx::size_of(kv);
}

void AttentionMixer::allocate(mx::Dtype kv, int n_blocks) {
  pool_.reset();
  pool_ = make_kv_pool(shape_.n_kv, n_blocks * kBlockTokens, shape_.d_k, shape_.d_v, kv);
}

std::vector<mx::array> AttentionMixer::state() const { return {pool_->k, pool_->v}; }

}  // namespace mlxforge
