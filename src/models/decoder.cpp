#include "models/decoder.h"

#include <algorithm>

#include "base/str.h"
#include "kernels/embed.h"
#include "kernels/hidden.h"
#include "layers/mixers/attention.h"
#include "models/weights.h"

namespace mlxforge {
namespace {

std::vector<int> distinct_windows(const ModelSpec& spec) {
  std::vector<int> windows;
  for (const auto& layer : spec.layers) {
    if (std::ranges::find(windows, layer.attention.window) == windows.end()) {
      windows.push_back(layer.attention.window);
    }
  }
  return windows;
}

DecoderLayer load_layer(WeightLoader& load, const ModelSpec& spec, int i, int group) {
  const auto& [attention, ffn] = spec.layers[i];
  const auto& s = attention.shape;
  const auto prefix = str("model.layers.", i, ".");
  const auto name = [&](const char* part) { return prefix + part; };
  const int q = s.n_q * s.d_k, k = s.n_kv * s.d_k, v = s.n_kv * s.d_v, d = spec.d_model;

  AttentionWeights weights{
      .norm = load.norm(name("input_layernorm")),
      .qkv = load.linear({{name("self_attn.q_proj"), q},
                          {name("self_attn.k_proj"), k},
                          {name("self_attn.v_proj"), v}},
                         d, attention.qkv_bias),
      .output = load.linear({{name("self_attn.o_proj"), d}}, s.n_q * s.d_v, attention.output_bias)};
  const AttentionParams params{.scale = attention.scale,
                               .window = attention.window,
                               .softcap = attention.softcap,
                               .sinks = {}};
  return {std::make_unique<AttentionMixer>(std::move(weights), s, attention.rope, params, group),
          {.norm = load.norm(name("post_attention_layernorm")),
           .gate_up = load.linear(
               {{name("mlp.gate_proj"), ffn.d_ff}, {name("mlp.up_proj"), ffn.d_ff}}, d, ffn.bias),
           .down = load.linear({{name("mlp.down_proj"), d}}, ffn.d_ff, ffn.bias),
           .act = ffn.act}};
}

// The head is the embedding when the config ties them, or says nothing and the checkpoint has none.
Linear load_head(WeightLoader& load, Checkpoint& checkpoint, const ModelSpec& spec,
                 const PackedWeight& embedding) {
  constexpr const char* kHead = "lm_head";
  if (spec.tied.value_or(!checkpoint.has("lm_head.weight"))) {
    for (const char* part : {".weight", ".scales", ".biases"}) checkpoint.ignore(str(kHead, part));
    return {.parts = {embedding}, .bias = {}};
  }
  return load.linear({{kHead, spec.vocab}}, spec.d_model, false);
}

}  // namespace

Decoder::Decoder(ModelSpec spec, Checkpoint& checkpoint, const Exec& exec,
                 const std::function<void(int, int)>& progress)
    : spec_(std::move(spec)), group_windows_(distinct_windows(spec_)) {
  WeightLoader load(checkpoint, exec, spec_);
  apply_rope_divisors(checkpoint, spec_);
  const int n = static_cast<int>(spec_.layers.size());
  embedding_ = load.matrix("model.embed_tokens", spec_.vocab, spec_.d_model);
  for (int i = 0; i < n; ++i) {
    const auto group = std::ranges::find(group_windows_, spec_.layers[i].attention.window);
    layers_.push_back(load_layer(load, spec_, i, static_cast<int>(group - group_windows_.begin())));
    progress(i + 1, n);
  }
  norm_ = load.norm("model.norm");
  head_ = load_head(load, checkpoint, spec_, embedding_);
  checkpoint.check_all_used();
}

std::vector<CacheGroup> Decoder::cache_groups(const Exec& exec) const {
  std::vector<CacheGroup> groups;
  for (const int window : group_windows_) groups.push_back({.block_bytes = 0, .window = window});
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto group = std::ranges::find(group_windows_, spec_.layers[i].attention.window);
    groups[group - group_windows_.begin()].block_bytes += layers_[i].mixer->block_bytes(exec.kv);
  }
  return groups;
}

void Decoder::allocate_cache(const Exec& exec, int n_blocks) {
  for (auto& layer : layers_) layer.mixer->allocate(exec.kv, n_blocks);
}

DecoderOutputs Decoder::forward(const Exec& exec, const Step& step) {
  auto x = embed(exec, step.tokens, embedding_, spec_.embed_scale);
  for (auto& layer : layers_) {
    x = layer.mixer->forward(exec, x, step);
    x = layer.feed_forward.forward(exec, x);
  }
  return {head(exec, x, step.logit_rows, norm_, head_, {.softcap = spec_.logit_softcap}),
          hidden(exec, x, step.hidden_rows, norm_)};
}

std::vector<mx::array> Decoder::state() const {
  std::vector<mx::array> arrays;
  for (const auto& layer : layers_) {
    for (auto& array : layer.mixer->state()) arrays.push_back(array);
  }
  return arrays;
}

}  // namespace mlxforge
