#include "models/gguf.h"

#include <algorithm>

#include "base/check.h"

namespace mlxforge {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr Names kTop[] = {
    {"model.embed_tokens", "token_embd"}, {"model.norm", "output_norm"}, {"lm_head", "output"}};
constexpr Names kLayer[] = {
    {"self_attn.q_proj", "attn_q"},   {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},   {"self_attn.o_proj", "attn_output"},
    {"input_layernorm", "attn_norm"}, {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"}};

template <size_t N>
std::string translate(std::string_view name, const Names (&table)[N]) {
  for (const auto& [from, to] : table) {
    if (name.starts_with(from) && name.substr(from.size()).starts_with('.')) {
      return str(to, name.substr(from.size()));
    }
  }
  return "";
}

// The scaling of the whole context, beside the per-frequency divisors of rope_freqs.weight.
Json rope_scaling(const GgufMetadata& m, const std::string& arch) {
  const auto type = m.get_or<std::string_view>(arch + ".rope.scaling.type", "none");
  if (type == "none") return nullptr;
  if (type == "linear") {
    return {{"rope_type", "linear"}, {"factor", m.get<float>(arch + ".rope.scaling.factor")}};
  }
  fail("models", "expected ", arch, ".rope.scaling.type none or linear, got '", type, "'");
}

// Keys below the architecture's name that gguf_config reads, or that say nothing about the forward
// pass.
constexpr std::string_view kUnderstood[] = {"context_length",
                                            "embedding_length",
                                            "block_count",
                                            "feed_forward_length",
                                            "vocab_size",
                                            "attention.head_count",
                                            "attention.head_count_kv",
                                            "attention.key_length",
                                            "attention.value_length",
                                            "attention.layer_norm_rms_epsilon",
                                            "attention.sliding_window",
                                            "rope.freq_base",
                                            "rope.dimension_count",
                                            "rope.scaling.type",
                                            "rope.scaling.factor",
                                            "rope.scaling.original_context_length",
                                            "rope.scaling.finetuned"};

void reject_unknown(const GgufMetadata& m, const std::string& prefix) {
  for (const auto& [key, value] : m.values()) {
    if (!key.starts_with(prefix)) continue;
    const auto name = key.substr(prefix.size());
    const bool no_experts = name.starts_with("expert_") && m.get<int64_t>(key) == 0;
    if (!no_experts && std::ranges::find(kUnderstood, name) == std::end(kUnderstood)) {
      fail("models", "expected only metadata that is understood, got '", key,
           "'; it may change the result, so it is not ignored");
    }
  }
}

// Of q, k and v alike, and rotated whole.
int32_t head_size(const GgufMetadata& m, const std::string& arch, int32_t d_model, int n_heads) {
  const auto size = m.get_or<int32_t>(arch + ".attention.key_length", d_model / n_heads);
  const auto d_v = m.get_or<int32_t>(arch + ".attention.value_length", size);
  const auto rotated = m.get_or<int32_t>(arch + ".rope.dimension_count", size);
  if (rotated != size || d_v != size) {
    fail("models",
         "expected rope.dimension_count and attention.value_length to equal the head size ", size,
         ", got ", rotated, " and ", d_v);
  }
  return size;
}

// null, which counts as absent, for a window of 0.
Json sliding_window(const GgufMetadata& m, const std::string& arch) {
  const auto window = m.get_or<int32_t>(arch + ".attention.sliding_window", 0);
  return window == 0 ? Json() : Json(window);
}

}  // namespace

Json gguf_config(const GgufMetadata& m, const WeightFiles& weights) {
  const std::string arch(m.get<std::string_view>("general.architecture"));
  if (arch != "llama") {
    fail("models", "expected general.architecture llama, got '", arch, "'");
  }
  reject_unknown(m, arch + ".");
  const auto integer = [&](const char* key) {
    const auto value = m.get<int32_t>(arch + key);
    if (value < 1) fail("models", "expected ", arch, key, " of at least 1, got ", value);
    return value;
  };
  const auto n_heads = integer(".attention.head_count");
  const auto d_model = integer(".embedding_length");
  const auto tokens = m.find("tokenizer.ggml.tokens");
  const int64_t vocab = m.get_or<int64_t>(arch + ".vocab_size", tokens ? tokens->count : 0);
  return {{"model_type", "llama"},
          {"hidden_size", d_model},
          {"vocab_size", vocab},
          {"num_hidden_layers", integer(".block_count")},
          {"num_attention_heads", n_heads},
          {"num_key_value_heads", m.get_or<int32_t>(arch + ".attention.head_count_kv", n_heads)},
          {"head_dim", head_size(m, arch, d_model, n_heads)},
          {"intermediate_size", integer(".feed_forward_length")},
          {"max_position_embeddings", integer(".context_length")},
          {"rms_norm_eps", m.get<float>(arch + ".attention.layer_norm_rms_epsilon")},
          {"rope_theta", m.get_or<float>(arch + ".rope.freq_base", 10000.f)},
          {"rope_scaling", rope_scaling(m, arch)},
          // Rows of q and k are stored with rotated pairs side by side, so the file is read as it
          // is and rotated interleaved.
          {"rope_traditional", true},
          {"attention_bias", weights.find("blk.0.attn_q.bias") != nullptr},
          {"mlp_bias", weights.find("blk.0.ffn_gate.bias") != nullptr},
          {"sliding_window", sliding_window(m, arch)}};
}

std::string gguf_tensor_name(std::string_view name) {
  constexpr std::string_view kPrefix = "model.layers.";
  if (!name.starts_with(kPrefix)) {
    const auto top = translate(name, kTop);
    return top.empty() ? std::string(name) : top;
  }
  const auto rest = name.substr(kPrefix.size());
  const auto dot = rest.find('.');
  const auto layer = translate(rest.substr(dot + 1), kLayer);
  return layer.empty() ? std::string(name) : str("blk.", rest.substr(0, dot), ".", layer);
}

}  // namespace mlxforge
