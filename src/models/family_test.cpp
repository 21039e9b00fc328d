#include "models/family.h"

#include <gtest/gtest.h>

#include "models/testing.h"

namespace mlxforge {
namespace {

Json llama() { return testing::TinyCheckpoint().config; }
Json with(const char* key, const Json& value) {
  Json config = llama();
  config[key] = value;
  return config;
}
std::string error(const Json& config) {
  return error_of([&] { read_spec(config); });
}

TEST(Family, LlamaAsData) {
  const ModelSpec spec = read_spec(llama());
  EXPECT_EQ(spec.family, "llama");
  EXPECT_EQ(spec.d_model, 32);
  EXPECT_EQ(spec.vocab, 41);
  EXPECT_EQ(spec.max_ctx, 256);
  EXPECT_EQ(spec.norm_eps, 1e-5f);
  EXPECT_EQ(spec.tied, true);
  ASSERT_EQ(spec.layers.size(), 2u);
  const auto& [attention, ffn] = spec.layers[1];
  EXPECT_EQ(attention.shape.n_q, 4);
  EXPECT_EQ(attention.shape.n_kv, 2);
  EXPECT_EQ(attention.shape.d_k, 8);
  EXPECT_EQ(attention.shape.d_v, 8);
  EXPECT_FLOAT_EQ(attention.scale, 1 / std::sqrt(8.f));
  EXPECT_EQ(attention.window, 0);
  EXPECT_FALSE(attention.qkv_bias || attention.output_bias || ffn.bias);
  EXPECT_EQ(ffn.d_ff, 48);
  EXPECT_EQ(ffn.act, Activation::silu);
  EXPECT_FALSE(attention.rope.interleaved);
  ASSERT_EQ(attention.rope.inv_freq.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(attention.rope.inv_freq[i], std::pow(10000.f, -2.f * i / 8));
  }
}

TEST(Family, OptionalKeys) {
  EXPECT_EQ(read_spec(with("head_dim", 16)).layers[0].attention.shape.d_k, 16);
  EXPECT_FLOAT_EQ(read_spec(with("head_dim", 16)).layers[0].attention.scale, 0.25f);
  EXPECT_EQ(read_spec(with("head_dim", nullptr)).layers[0].attention.shape.d_k, 8);
  EXPECT_EQ(read_spec(with("num_key_value_heads", nullptr)).layers[0].attention.shape.n_kv, 4);
  EXPECT_TRUE(read_spec(with("attention_bias", true)).layers[0].attention.output_bias);
  EXPECT_TRUE(read_spec(with("mlp_bias", true)).layers[0].feed_forward.bias);
  EXPECT_EQ(read_spec(with("tie_word_embeddings", nullptr)).tied, std::nullopt);
  EXPECT_EQ(read_spec(with("tie_word_embeddings", false)).tied, false);
  EXPECT_TRUE(read_spec(with("rope_traditional", true)).layers[0].attention.rope.interleaved);
  EXPECT_EQ(read_spec(with("hidden_act", "silu")).layers[0].feed_forward.act, Activation::silu);
}

TEST(Family, Windows) {
  const auto windows = [](const Json& config) {
    std::vector<int> result;
    for (const auto& layer : read_spec(config).layers) result.push_back(layer.attention.window);
    return result;
  };
  // Llama has windows only where layer_types says so; Mistral everywhere.
  Json config = with("sliding_window", 64);
  EXPECT_EQ(windows(config), (std::vector{0, 0}));
  config["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_EQ(windows(config), (std::vector{64, 0}));
  Json mistral = with("model_type", "mistral");
  EXPECT_EQ(windows(mistral), (std::vector{0, 0}));
  mistral["sliding_window"] = nullptr;
  EXPECT_EQ(windows(mistral), (std::vector{0, 0}));
  mistral["sliding_window"] = 4096;
  EXPECT_EQ(windows(mistral), (std::vector{4096, 4096}));
  EXPECT_EQ(read_spec(mistral).family, "mistral");
}

struct Refused {
  Json config;
  const char* says;
};

TEST(Family, RefusesByName) {
  Json no_window = with("layer_types", {"sliding_attention", "full_attention"});
  const Refused cases[] = {
      {with("model_type", "qwen9"), "llama, mistral; got 'qwen9'"},
      {with("model_type", nullptr), "'model_type'"},
      {with("model_type", 3), "'model_type'"},
      {with("use_qk_norm", true), "'use_qk_norm' = true"},
      {with("attn_logit_softcapping", 50.0), "'attn_logit_softcapping' = 50.0"},
      {with("partial_rotary_factor", 0.5), "'partial_rotary_factor'"},
      {with("num_local_experts", 8), "'num_local_experts'"},
      {with("hidden_act", "relu2"), "'relu2'"},
      {with("hidden_act", "gelu"), "'gelu'"},
      {with("hidden_size", nullptr), "'hidden_size'"},
      {with("hidden_size", 0), "'hidden_size'"},
      {with("hidden_size", -32), "'hidden_size'"},
      {with("hidden_size", 32.5), "'hidden_size'"},
      {with("hidden_size", "32"), "'hidden_size'"},
      {with("hidden_size", 4294967328), "'hidden_size'"},
      {with("num_attention_heads", 6), "hidden_size to be a multiple of num_attention_heads"},
      {with("num_key_value_heads", 3), "multiple of num_key_value_heads, got 4 and 3"},
      {with("head_dim", 7), "even head_dim of at most 4096, got 7"},
      {with("rms_norm_eps", "tiny"), "'rms_norm_eps'"},
      {with("attention_bias", 1), "'attention_bias'"},
      {with("tie_word_embeddings", "yes"), "'tie_word_embeddings'"},
      {with("rope_interleaved", true), "'rope_interleaved'"},
      {with("rope_scaling", {{"rope_type", "longrope"}, {"factor", 4}}), "'longrope'"},
      {with("rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2}}), "'dynamic'"},
      {with("layer_types", {"full_attention"}), "layer_types to list 2 layers"},
      {with("layer_types", "full_attention"), "layer_types to list 2 layers"},
      {with("layer_types", {"full_attention", "linear_attention"}), "linear_attention"},
      {no_window, "sliding_attention"},
      {Json::array(), "to be an object"},
  };
  for (const auto& [config, says] : cases) {
    EXPECT_NE(error(config).find(says), std::string::npos) << says << ": " << error(config);
  }
}

// Keys that say nothing about the forward pass, as checkpoints in the wild carry them.
TEST(Family, InertKeysPass) {
  Json config = llama();
  config.update({{"architectures", {"LlamaForCausalLM"}},
                 {"torch_dtype", "bfloat16"},
                 {"transformers_version", "4.43.0.dev0"},
                 {"use_cache", true},
                 {"pretraining_tp", 1},
                 {"attention_dropout", 0.0},
                 {"initializer_range", 0.02},
                 {"bos_token_id", 1},
                 {"eos_token_id", {2, 3}},
                 {"pad_token_id", nullptr},
                 {"auto_map", {{"AutoModel", "evil.py"}}},
                 {"model_file", "evil.py"},
                 {"something_null", nullptr}});
  EXPECT_EQ(error(config), "");
}

TEST(Family, EachIsListedOnce) {
  std::set<std::string_view> names;
  for (const Family& family : families()) EXPECT_TRUE(names.insert(family.model_type).second);
  EXPECT_TRUE(names.contains("llama") && names.contains("mistral"));
}

}  // namespace
}  // namespace mlxforge
