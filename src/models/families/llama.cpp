#include "models/families/llama.h"

#include <cmath>

#include "base/check.h"
#include "models/rope_config.h"

namespace mlxforge {
namespace {

// Far beyond any model; a larger number is a broken file, and would be allocated for, or overflow a
// product, before a tensor is missed.
constexpr int kMaxLayers = 2048, kMaxHeads = 4096, kMaxHeadDim = 4096, kMaxContext = 1 << 30;

// Keys that say nothing about the forward pass: bookkeeping, training and generation settings.
void ignore_inert(ConfigReader& config) {
  config.ignore({"architectures",
                 "auto_map",
                 "model_file",
                 "_name_or_path",
                 "torch_dtype",
                 "dtype",
                 "transformers_version",
                 "use_cache",
                 "initializer_range",
                 "attention_dropout",
                 "pretraining_tp",
                 "bos_token_id",
                 "eos_token_id",
                 "pad_token_id",
                 "is_llama_config",
                 "transformers.js_config",
                 "unsloth_fixed",
                 "unsloth_version",
                 "quantization",
                 "quantization_config",
                 "_attn_implementation_autoset",
                 "num_logits_to_keep"});
}

// The family is SwiGLU throughout; mlx-lm, our oracle, has no other activation for it.
Activation activation(const std::string& name) {
  if (name == "silu" || name == "swish") return Activation::silu;
  fail("models", "expected hidden_act silu, got '", name, "'");
}

AttentionShape attention_shape(ConfigReader& config, int d_model) {
  const int n_q = config.integer("num_attention_heads", kMaxHeads);
  const int n_kv = config.integer_or("num_key_value_heads", n_q);
  if (n_q % n_kv != 0) {
    fail("models", "expected num_attention_heads to be a multiple of num_key_value_heads, got ",
         n_q, " and ", n_kv);
  }
  if (!config.has("head_dim") && d_model % n_q != 0) {
    fail("models", "expected hidden_size to be a multiple of num_attention_heads, got ", d_model,
         " and ", n_q);
  }
  const int d = config.integer_or("head_dim", d_model / n_q);
  if (d % 2 != 0 || d > kMaxHeadDim) {
    fail("models", "expected an even head_dim of at most ", kMaxHeadDim, ", got ", d);
  }
  return {.n_q = n_q, .n_kv = n_kv, .d_k = d, .d_v = d};
}

// Per layer, from layer_types; without it `everywhere` says whether sliding_window holds in all
// layers or in none.
std::vector<int> windows(ConfigReader& config, int n_layers, bool everywhere) {
  const int window = config.integer_or("sliding_window", 0);
  const Json* types = config.value("layer_types");
  if (!types) return std::vector<int>(n_layers, everywhere ? window : 0);
  if (!types->is_array() || types->size() != static_cast<size_t>(n_layers)) {
    fail("models", "expected layer_types to list ", n_layers, " layers, got ", types->dump());
  }
  std::vector<int> result;
  for (const Json& type : *types) {
    if (type == "sliding_attention" && window > 0) {
      result.push_back(window);
    } else if (type == "full_attention") {
      result.push_back(0);
    } else {
      fail("models", "expected layer_types of full_attention or (with a sliding_window) ",
           "sliding_attention, got ", type.dump());
    }
  }
  return result;
}

ModelSpec llama_like(ConfigReader& config, bool window_everywhere) {
  ModelSpec spec;
  spec.d_model = config.integer("hidden_size");
  spec.vocab = config.integer("vocab_size");
  spec.max_ctx = config.value("max_position_embeddings")
                     ? config.integer("max_position_embeddings", kMaxContext)
                     : 2048;
  spec.norm_eps = static_cast<float>(config.number("rms_norm_eps"));
  if (config.has("tie_word_embeddings"))
    spec.tied = config.boolean_or("tie_word_embeddings", false);

  const int n_layers = config.integer("num_hidden_layers", kMaxLayers);
  LayerSpec layer;
  auto& attention = layer.attention;
  attention.shape = attention_shape(config, spec.d_model);
  attention.rope = read_rope(config, attention.shape.d_k, 10000);
  // rope_traditional is mlx-lm's word for it, rope_interleaved Hugging Face's.
  attention.rope.interleaved = config.boolean_or("rope_traditional", false);
  config.require("rope_interleaved", attention.rope.interleaved);
  attention.scale = static_cast<float>(1 / std::sqrt(double(attention.shape.d_k)));
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  layer.feed_forward = {.d_ff = config.integer("intermediate_size"),
                        .act = activation(config.string_or("hidden_act", "silu")),
                        .bias = config.boolean_or("mlp_bias", false)};
  for (const int window : windows(config, n_layers, window_everywhere)) {
    attention.window = window;
    spec.layers.push_back(layer);
  }
  ignore_inert(config);
  return spec;
}

}  // namespace

ModelSpec llama_spec(ConfigReader& config) {
  ModelSpec spec = llama_like(config, false);
  spec.family = "llama";
  return spec;
}

ModelSpec mistral_spec(ConfigReader& config) {
  ModelSpec spec = llama_like(config, true);
  spec.family = "mistral";
  return spec;
}

}  // namespace mlxforge
