#include "models/gguf.h"

#include <gtest/gtest.h>

#include <deque>

#include "files/test_support.h"
#include "models/decoder.h"
#include "models/family.h"
#include "models/rope_config.h"
#include "models/weights.h"

namespace mlxforge {
namespace {

// Metadata of a small Llama, to be changed before it is read.
class Metadata {
 public:
  Metadata() {
    set("general.architecture", "llama");
    const std::pair<const char*, uint32_t> numbers[] = {
        {"llama.context_length", 512},      {"llama.embedding_length", 64},
        {"llama.block_count", 2},           {"llama.feed_forward_length", 96},
        {"llama.attention.head_count", 4},  {"llama.attention.head_count_kv", 2},
        {"llama.rope.dimension_count", 16}, {"llama.vocab_size", 300}};
    for (const auto& [key, value] : numbers) set(key, value);
    set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    set("llama.rope.freq_base", 500000.f);
  }
  void set(std::string_view key, GgufType type, const std::string& bytes) {
    values_[key] = {.type = type, .bytes = bytes_of(strings_.emplace_back(bytes))};
  }
  void set(std::string_view key, const char* value) {
    set(key, GgufType::string, le(uint64_t{strlen(value)}) + value);
  }
  void set(std::string_view key, uint32_t value) { set(key, GgufType::u32, le(value)); }
  void set(std::string_view key, float value) { set(key, GgufType::f32, le(value)); }
  void erase(std::string_view key) { values_.erase(key); }

  Json config() const { return gguf_config(GgufMetadata("m.gguf", values_), WeightFiles()); }
  std::string error() const {
    return error_of([&] { config(); });
  }

 private:
  std::deque<std::string> strings_;
  std::map<std::string_view, GgufValue> values_;
};

TEST(GgufConfig, SaysWhatTheMetadataSay) {
  const Json config = Metadata().config();
  const Json expected = {
      {"model_type", "llama"},  {"hidden_size", 64},        {"vocab_size", 300},
      {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
      {"head_dim", 16},         {"intermediate_size", 96},  {"max_position_embeddings", 512},
      {"rope_theta", 500000.0}, {"rope_traditional", true}, {"attention_bias", false},
      {"mlp_bias", false}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(config[key], value) << key;
  EXPECT_FLOAT_EQ(config["rms_norm_eps"].get<float>(), 1e-5f);
  const ModelSpec spec = read_spec(config);
  EXPECT_TRUE(spec.layers[0].attention.rope.interleaved);
  EXPECT_EQ(spec.tied, std::nullopt);
}

TEST(GgufConfig, Optionals) {
  Metadata m;
  m.erase("llama.attention.head_count_kv");
  m.erase("llama.rope.freq_base");
  m.erase("llama.rope.dimension_count");
  m.set("llama.attention.sliding_window", 128u);
  m.set("llama.rope.scaling.type", "linear");
  m.set("llama.rope.scaling.factor", 4.f);
  m.set("llama.attention.key_length", 32u);
  m.set("llama.attention.value_length", 32u);
  m.set("llama.expert_count", 0u);
  m.set("llama.rope.scaling.finetuned", GgufType::boolean, le(uint8_t{1}));
  const Json config = m.config();
  EXPECT_EQ(config["num_key_value_heads"], 4);
  EXPECT_EQ(config["rope_theta"], 10000);
  EXPECT_EQ(config["head_dim"], 32);
  EXPECT_EQ(config["sliding_window"], 128);
  EXPECT_EQ(config["rope_scaling"], (Json{{"rope_type", "linear"}, {"factor", 4.0}}));
}

TEST(GgufConfig, RefusesByName) {
  struct Change {
    std::function<void(Metadata&)> make;
    const char* says;
  };
  const Change changes[] = {
      {[](auto& m) { m.set("general.architecture", "qwen9"); }, "'qwen9'"},
      {[](auto& m) { m.erase("general.architecture"); }, "general.architecture"},
      {[](auto& m) { m.set("llama.attention.alibi", 1u); }, "'llama.attention.alibi'"},
      {[](auto& m) { m.set("llama.expert_count", 8u); }, "'llama.expert_count'"},
      {[](auto& m) { m.set("llama.logit_scale", 2.f); }, "'llama.logit_scale'"},
      {[](auto& m) { m.erase("llama.block_count"); }, "llama.block_count"},
      {[](auto& m) { m.set("llama.block_count", 2.f); }, "llama.block_count"},
      {[](auto& m) { m.set("llama.attention.head_count", 0u); }, "llama.attention.head_count"},
      {[](auto& m) { m.set("llama.rope.dimension_count", 8u); }, "rope.dimension_count"},
      {[](auto& m) { m.set("llama.attention.value_length", 8u); }, "value_length"},
      {[](auto& m) { m.set("llama.rope.scaling.type", "yarn"); }, "'yarn'"},
      {[](auto& m) { m.set("llama.embedding_length", GgufType::i32, le(int32_t{-64})); },
       "llama.embedding_length"},
  };
  for (const auto& [make, says] : changes) {
    Metadata m;
    make(m);
    const auto message = error_of([&] { read_spec(m.config()); });
    EXPECT_NE(message.find(says), std::string::npos) << says << ": " << message;
  }
}

TEST(GgufTensorName, EveryNameTheDecoderAsksFor) {
  const std::pair<const char*, const char*> names[] = {
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"lm_head.weight", "output.weight"},
      {"model.layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight"},
      {"model.layers.12.self_attn.k_proj.bias", "blk.12.attn_k.bias"},
      {"model.layers.3.self_attn.v_proj.weight", "blk.3.attn_v.weight"},
      {"model.layers.3.self_attn.o_proj.weight", "blk.3.attn_output.weight"},
      {"model.layers.3.input_layernorm.weight", "blk.3.attn_norm.weight"},
      {"model.layers.3.post_attention_layernorm.weight", "blk.3.ffn_norm.weight"},
      {"model.layers.3.mlp.gate_proj.weight", "blk.3.ffn_gate.weight"},
      {"model.layers.3.mlp.up_proj.weight", "blk.3.ffn_up.weight"},
      {"model.layers.31.mlp.down_proj.weight", "blk.31.ffn_down.weight"},
      {"rope_freqs.weight", "rope_freqs.weight"},
      {"model.layers.3.self_attn.q_norm.weight", "model.layers.3.self_attn.q_norm.weight"}};
  for (const auto& [from, to] : names) EXPECT_EQ(gguf_tensor_name(from), to);
}

// Case 4: the divisors of a GGUF with llama3 scaling (factor 8, low 1, high 4, original 64) give
// the frequencies that the config's formula gives.
TEST(Gguf, RopeDivisorsAreLlama3Scaling) {
  const ModelFiles files = open_model("reference/fixtures/gguf_llama3");
  Checkpoint checkpoint(files);
  ModelSpec spec = read_spec(checkpoint.config());
  const auto plain = spec.layers[0].attention.rope.inv_freq;
  apply_rope_divisors(checkpoint, spec);
  const auto& scaled = spec.layers[0].attention.rope.inv_freq;
  const auto expected = llama3_frequencies(1e4, 2 * static_cast<int>(plain.size()), {8, 1, 4, 64});
  EXPECT_NE(scaled, plain);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(scaled[i] / expected[i], 1, 2e-6) << i;
}

TEST(Gguf, DtypesOfActivationsAndOfKeys) {
  const std::pair<const char*, DType> files[] = {
      {"gguf_f32", DType::f32},  {"gguf_f16", DType::f16},  {"gguf_bf16", DType::bf16},
      {"gguf_q4_0", DType::f16}, {"gguf_q4_1", DType::f16}, {"gguf_q8_0", DType::f16}};
  for (const auto& [name, kv] : files) {
    const ModelFiles model = open_model("reference/fixtures/" + std::string(name));
    const Checkpoint checkpoint(model);
    EXPECT_EQ(checkpoint.float_dtype(), DType::f32) << name;
    EXPECT_EQ(checkpoint.kv_dtype(), kv) << name;
  }
}

}  // namespace
}  // namespace mlxforge
