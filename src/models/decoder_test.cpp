#include "models/decoder.h"

#include <gtest/gtest.h>

#include "models/testing.h"

namespace mlxforge {
namespace {

using namespace testing;

class DecoderTest : public ::testing::Test {
 protected:
  TempDir folder;
  TinyCheckpoint tiny;

  std::vector<float> logits(const Place& place = kCpuExact, int n = 20) {
    const ModelFiles files = tiny.open(folder);
    return TinyDecoder(files, place).feed(some_ids(n));
  }
  std::string error() {
    const ModelFiles files = tiny.open(folder);
    return error_of([&] { TinyDecoder(files, kCpuExact); });
  }
  void expect_error(const std::string& says) {
    const std::string message = error();
    EXPECT_NE(message.find(says), std::string::npos) << "'" << message << "' should say " << says;
  }
};

// The largest difference over the largest logit.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, top = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(double(a[i]) - b[i]));
    top = std::max(top, std::abs(double(b[i])));
  }
  return most / top;
}

TEST_F(DecoderTest, OwnKernelsAndStockOpsAgree) {
  EXPECT_LT(distance(logits(kCpuExact), logits(kReference)), 2e-4);
  EXPECT_LT(distance(logits({KernelPath::cpu, Arith::accurate, mx::float32}), logits(kReference)),
            2e-4);
}

// Case 2, and the same without a window: however a prompt is cut, the bits are the same.
TEST_F(DecoderTest, ChunksOfAPromptMakeNoDifference) {
  for (const int window : {0, 8}) {
    if (window > 0) {
      tiny.config["sliding_window"] = window;
      tiny.config["layer_types"] = {"full_attention", "sliding_attention"};
    }
    const ModelFiles files = tiny.open(folder);
    const auto ids = some_ids(70);
    for (const auto arith : {Arith::exact, Arith::accurate}) {
      const Place place = {KernelPath::cpu, arith, mx::float32};
      const auto whole = TinyDecoder(files, place).feed(ids);
      for (const int chunk : {1, 5, 33}) {
        TinyDecoder decoder(files, place);
        std::vector<float> pieces;
        for (size_t at = 0; at < ids.size(); at += chunk) {
          const auto end = std::min(at + chunk, ids.size());
          const auto part = decoder.feed({ids.begin() + at, ids.begin() + end});
          pieces.insert(pieces.end(), part.begin(), part.end());
        }
        EXPECT_EQ(pieces, whole) << "chunks of " << chunk << ", window " << window;
      }
    }
  }
}

// Case 2: with one layer, query i depends on tokens i - W + 1 .. i and on no other.
TEST_F(DecoderTest, AWindowOfEightSeesEightTokens) {
  tiny.config["num_hidden_layers"] = 1;
  tiny.config["sliding_window"] = 8;
  tiny.config["layer_types"] = {"sliding_attention"};
  std::erase_if(tiny.tensors, [](const auto& t) { return t.first.starts_with("model.layers.1"); });
  const ModelFiles files = tiny.open(folder);
  for (const Place& place : {kCpuExact, kReference}) {
    const auto last = [&](const std::vector<int32_t>& ids) {
      const auto all = TinyDecoder(files, place).feed(ids);
      return std::vector<float>(all.end() - 41, all.end());
    };
    const auto ids = some_ids(40);
    for (int back = 0; back < 40; ++back) {
      auto other = ids;
      other[39 - back] = (other[39 - back] + 1) % 41;
      EXPECT_EQ(last(other) != last(ids), back < 8) << back;
    }
  }
}

TEST_F(DecoderTest, CacheGroupsAreTheDistinctWindows) {
  tiny.config["sliding_window"] = 8;
  const auto groups = [&](const std::vector<const char*>& types, mx::Dtype kv) {
    tiny.config["layer_types"] = types;
    const ModelFiles files = tiny.open(folder);
    Checkpoint checkpoint(files);
    Exec exec = make_exec(kCpuExact);
    exec.kv = kv;
    const Decoder decoder(read_spec(checkpoint.config()), checkpoint, exec, [](int, int) {});
    std::vector<std::pair<int, size_t>> result;
    for (const auto& group : decoder.cache_groups(exec)) {
      result.push_back({group.window, group.block_bytes});
    }
    return result;
  };
  // A layer's block: 32 tokens of 2 heads of 8 + 8 values.
  using Groups = std::vector<std::pair<int, size_t>>;
  EXPECT_EQ(groups({"full_attention", "sliding_attention"}, mx::float32),
            (Groups{{0, 4096}, {8, 4096}}));
  EXPECT_EQ(groups({"sliding_attention", "sliding_attention"}, mx::bfloat16), (Groups{{8, 4096}}));
}

// Case 5: the two places of rope_theta.
TEST_F(DecoderTest, RopeThetaMayMove) {
  const auto with_1e4 = logits();
  tiny.config["rope_theta"] = 1000000;
  const auto at_the_top = logits();
  tiny.config.erase("rope_theta");
  tiny.config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1000000}};
  EXPECT_EQ(logits(), at_the_top);
  EXPECT_NE(at_the_top, with_1e4);
}

// Case 9.
TEST_F(DecoderTest, TiedAndSeparateHeads) {
  const auto tied = logits();
  tiny.add("lm_head.weight", {41, 32});
  EXPECT_EQ(logits(), tied);
  tiny.config["tie_word_embeddings"] = false;
  const auto separate = logits();
  EXPECT_NE(separate, tied);
  EXPECT_LT(distance(separate, logits(kReference)), 2e-4);
  tiny.tensors.at("lm_head.weight") = tiny.tensors.at("model.embed_tokens.weight");
  EXPECT_EQ(logits(), tied);
  tiny.tensors.erase("lm_head.weight");
  expect_error("lm_head.weight");
  // Unsaid, the files decide.
  tiny.config.erase("tie_word_embeddings");
  EXPECT_EQ(logits(), tied);
  tiny.add("lm_head.weight", {41, 32});
  EXPECT_EQ(logits(), separate);
}

// Case 10.
TEST_F(DecoderTest, AttentionBiases) {
  const auto without = logits();
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    const std::pair<const char*, int> sizes[] = {{"q", 32}, {"k", 16}, {"v", 16}, {"o", 32}};
    for (const auto& [part, n] : sizes) {
      const auto name = std::string(layer) + "self_attn." + part + "_proj.bias";
      tiny.add(name, {n});
      tiny.fill(name, 0.5f);
    }
  }
  expect_error("unused tensor model.layers.0.self_attn.k_proj.bias");
  tiny.config["attention_bias"] = true;
  const auto with = logits();
  EXPECT_GT(distance(with, without), 1e-2);
  EXPECT_LT(distance(with, logits(kReference)), 2e-4);
  tiny.tensors.erase("model.layers.1.self_attn.o_proj.bias");
  expect_error("model.layers.1.self_attn.o_proj.bias");
}

TEST_F(DecoderTest, MlpBiases) {
  const auto without = logits();
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    tiny.add(layer + std::string("mlp.gate_proj.bias"), {48});
    tiny.add(layer + std::string("mlp.up_proj.bias"), {48});
    tiny.add(layer + std::string("mlp.down_proj.bias"), {32});
  }
  expect_error("unused tensor model.layers.0.mlp.");
  tiny.config["mlp_bias"] = true;
  EXPECT_GT(distance(logits(), without), 1e-3);
  EXPECT_LT(distance(logits(), logits(kReference)), 2e-4);
}

// Case 7: the output of down_proj is 7e4, above float16's 65504.
TEST_F(DecoderTest, LargeActivationsOfABf16CheckpointStayFinite) {
  tiny.dtype = DType::bf16;
  tiny.fill("model.layers.1.post_attention_layernorm.weight", 0);
  for (const char* name : {"gate", "up"}) {
    const auto full = "model.layers.1.mlp." + std::string(name) + "_proj";
    tiny.fill(full + ".weight", 0);
    tiny.add(full + ".bias", {48});
    tiny.fill(full + ".bias", 1);
    tiny.add("model.layers.0.mlp." + std::string(name) + "_proj.bias", {48});
  }
  tiny.add("model.layers.0.mlp.down_proj.bias", {32});
  tiny.add("model.layers.1.mlp.down_proj.bias", {32});
  tiny.config["mlp_bias"] = true;
  tiny.fill("model.layers.1.mlp.down_proj.weight", 2000);  // 48 * silu(1) * 2000 = 70,181
  for (const auto& place : {Place{KernelPath::cpu, Arith::exact, mx::bfloat16},
                            Place{KernelPath::cpu, Arith::accurate, mx::bfloat16},
                            Place{KernelPath::reference, Arith::exact, mx::bfloat16}}) {
    const auto y = logits(place);
    EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isfinite(v); }));
    EXPECT_NE(std::ranges::max(y), std::ranges::min(y));
  }
}

TEST_F(DecoderTest, NamesTheTensorThatIsMissingOrMisshapen) {
  for (const auto& [name, tensor] : TinyCheckpoint().tensors) {
    tiny = TinyCheckpoint();
    tiny.tensors.erase(name);
    expect_error(name);
    tiny = TinyCheckpoint();
    tiny.add(name, {7, 9});
    expect_error(name);
    expect_error("(7, 9)");
  }
}

TEST_F(DecoderTest, OldRotaryBuffersAreNotMissed) {
  const auto clean = logits();
  tiny.add("model.layers.0.self_attn.rotary_emb.inv_freq", {4});
  EXPECT_EQ(logits(), clean);
  tiny.add("model.layers.0.self_attn.q_norm.weight", {8});
  expect_error("unused tensor model.layers.0.self_attn.q_norm.weight");
}

}  // namespace
}  // namespace mlxforge
