#include "engine/testing/tiny_model.h"

#include <stdlib.h>

#include <cmath>
#include <fstream>
#include <random>

#include "files/json.h"

namespace mlxforge {
namespace {

constexpr int kWidth = 64, kHeads = 4, kKvHeads = 2, kHeadDim = 16, kFf = 96, kLayers = 2;

// safetensors: u64 header length | JSON header | data.
class Writer {
 public:
  // Values around 0 with variance 1 / fan-in, so that logits are lively and the greedy choice is
  // clear.
  void matrix(const std::string& name, int n_out, int n_in) {
    std::normal_distribution<float> normal(0, 2 / std::sqrt(float(n_in)));
    add(name, {n_out, n_in}, [&] { return normal(random_); });
  }
  void norm(const std::string& name) {
    std::uniform_real_distribution<float> uniform(0.5f, 1.5f);
    add(name, {kWidth}, [&] { return uniform(random_); });
  }
  void save(const std::filesystem::path& path) const {
    const std::string header = header_.dump();
    const uint64_t length = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header;
    out.write(reinterpret_cast<const char*>(data_.data()), data_.size() * sizeof(float));
  }

 private:
  template <class Next>
  void add(const std::string& name, std::vector<int> shape, Next next) {
    const size_t begin = data_.size() * sizeof(float);
    size_t n = 1;
    for (const int d : shape) n *= d;
    for (size_t i = 0; i < n; ++i) data_.push_back(next());
    header_[name] = {{"dtype", "F32"},
                     {"shape", shape},
                     {"data_offsets", {begin, data_.size() * sizeof(float)}}};
  }

  std::mt19937 random_{7};
  Json header_;
  std::vector<float> data_;
};

void write_weights(const std::filesystem::path& path) {
  Writer w;
  w.matrix("model.embed_tokens.weight", kVocab, kWidth);
  for (int i = 0; i < kLayers; ++i) {
    const auto p = "model.layers." + std::to_string(i) + ".";
    w.norm(p + "input_layernorm.weight");
    w.matrix(p + "self_attn.q_proj.weight", kHeads * kHeadDim, kWidth);
    w.matrix(p + "self_attn.k_proj.weight", kKvHeads * kHeadDim, kWidth);
    w.matrix(p + "self_attn.v_proj.weight", kKvHeads * kHeadDim, kWidth);
    w.matrix(p + "self_attn.o_proj.weight", kWidth, kHeads * kHeadDim);
    w.norm(p + "post_attention_layernorm.weight");
    w.matrix(p + "mlp.gate_proj.weight", kFf, kWidth);
    w.matrix(p + "mlp.up_proj.weight", kFf, kWidth);
    w.matrix(p + "mlp.down_proj.weight", kWidth, kFf);
  }
  w.norm("model.norm.weight");
  w.matrix("lm_head.weight", kVocab, kWidth);
  w.save(path);
}

Json config(int window) {
  Json json = {{"model_type", "llama"},         {"hidden_size", kWidth},
               {"vocab_size", kVocab},          {"num_hidden_layers", kLayers},
               {"num_attention_heads", kHeads}, {"num_key_value_heads", kKvHeads},
               {"intermediate_size", kFf},      {"max_position_embeddings", 512},
               {"rms_norm_eps", 1e-5},          {"tie_word_embeddings", false}};
  if (window > 0) {
    json["sliding_window"] = window;
    json["layer_types"] = {"full_attention", "sliding_attention"};
  }
  return json;
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "mlxforge-tiny-XXXXXX").string();
  check(mkdtemp(name.data()) != nullptr, "mkdtemp");
  return name;
}

}  // namespace

TinyModel::TinyModel(int window) : folder_(make_folder()) {
  write_weights(folder_ / "model.safetensors");
  std::ofstream(folder_ / "config.json") << config(window);
  files_ = open_model(folder_);
}

TinyModel::~TinyModel() { std::filesystem::remove_all(folder_); }

std::unique_ptr<Engine> make_engine(const TinyModel& model, const EngineTweaks& tweaks) {
  // f32 KV: 2 layers x K and V x 2 heads x 16 x 4 bytes a token.
  constexpr int64_t kTokenBytes = kLayers * 2 * kKvHeads * kHeadDim * sizeof(float);
  set_default_device(Device::cpu);
  const EngineOptions options{.device = Device::cpu,
                              .threads = tweaks.threads,
                              .prefill_chunk = tweaks.prefill_chunk,
                              .max_batch = tweaks.max_batch,
                              .max_ctx = tweaks.max_ctx,
                              .kv_budget = tweaks.kv_blocks * kBlockTokens * kTokenBytes,
                              .kernels = tweaks.kernels};
  return load_engine(model.files(), options, {.n_valid = kVocab, .stop_ids = tweaks.stop_ids},
                     [](double) {});
}

std::vector<int32_t> random_prompt(int n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(n);
  for (auto& id : ids) id = static_cast<int32_t>(random() % kVocab);
  return ids;
}

}  // namespace mlxforge
