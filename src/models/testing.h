// Tiny random checkpoints on disk, and their logits, for the tests of this module.
#pragma once

#include <numeric>

#include "files/test_support.h"
#include "kernels/testing.h"
#include "models/decoder.h"
#include "models/family.h"

namespace mlxforge::testing {

// A Llama of one folder: its config and float tensors, to be changed before they are written.
struct TinyCheckpoint {
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  Json config = {{"model_type", "llama"},      {"hidden_size", 32},
                 {"intermediate_size", 48},    {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},   {"num_key_value_heads", 2},
                 {"vocab_size", 41},           {"rms_norm_eps", 1e-5},
                 {"rope_theta", 10000},        {"max_position_embeddings", 256},
                 {"tie_word_embeddings", true}};
  std::map<std::string, Tensor> tensors;
  DType dtype = DType::f32;  // what the tensors are written as: f32 or bf16

  TinyCheckpoint() {
    add("model.embed_tokens.weight", {41, 32});
    for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
      for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"}) {
        add(layer + std::string(norm), {32});
      }
      const std::pair<const char*, std::vector<int64_t>> matrices[] = {
          {"self_attn.q_proj", {32, 32}}, {"self_attn.k_proj", {16, 32}},
          {"self_attn.v_proj", {16, 32}}, {"self_attn.o_proj", {32, 32}},
          {"mlp.gate_proj", {48, 32}},    {"mlp.up_proj", {48, 32}},
          {"mlp.down_proj", {32, 48}}};
      for (const auto& [name, shape] : matrices) add(layer + std::string(name) + ".weight", shape);
    }
    add("model.norm.weight", {32});
  }

  // Values on every float dtype's grid: norms around 1, the rest small.
  void add(const std::string& name, const std::vector<int64_t>& shape) {
    const bool norm = name.find("norm") != std::string::npos;
    const size_t n = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
    auto values = random_values(n, 1 + tensors.size(), 0.25f);
    for (float& v : values) v = norm ? 1 + v / 8 : v;
    tensors[name] = {shape, values};
  }
  void fill(const std::string& name, float value) {
    std::ranges::fill(tensors.at(name).values, value);
  }

  // The folder is rewritten; the files must go before it does.
  ModelFiles open(const TempDir& folder) const {
    Json header;
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      const size_t begin = data.size();
      for (const float v : tensor.values) {
        data += dtype == DType::f32 ? le(v) : le(uint16_t(std::bit_cast<uint32_t>(v) >> 16));
      }
      header[name] = {{"dtype", dtype_name(dtype)},
                      {"shape", tensor.shape},
                      {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    folder.write("config.json", config.dump());
    folder.write("model.safetensors", le(uint64_t{text.size()}) + text + data);
    return open_model(folder.path());
  }
};

inline const Place kCpuExact = {KernelPath::cpu, Arith::exact, mx::float32};
inline const Place kReference = {KernelPath::reference, Arith::exact, mx::float32};

// A decoder with its cache, driven the way the runner does: one sequence, in blocks that are not
// in order.
class TinyDecoder {
 public:
  TinyDecoder(const ModelFiles& files, const Place& place)
      : exec_(make_exec(place)), decoder_([&] {
          Checkpoint checkpoint(files);
          return Decoder(read_spec(checkpoint.config()), checkpoint, exec_, [](int, int) {});
        }()) {
    decoder_.allocate_cache(exec_, static_cast<int>(blocks_.size()));
  }

  const ModelSpec& spec() const { return decoder_.spec(); }

  // Logits (ids, vocab) of the next ids of the sequence.
  std::vector<float> feed(const std::vector<int32_t>& ids) {
    const int T = static_cast<int>(ids.size());
    std::vector<int32_t> positions(T), slots, rows(T);
    std::iota(positions.begin(), positions.end(), n_);
    std::iota(rows.begin(), rows.end(), 0);
    n_ += T;
    for (const int p : positions) slots.push_back(blocks_[p / 32] * 32 + p % 32);
    const AttentionBatch batch{{{.q_start = 0, .q_len = T, .kv_len = n_, .blocks = blocks_.data()}},
                               slots};
    const size_t n_groups = decoder_.cache_groups(exec_).size();
    const auto outputs =
        decoder_.forward(exec_, {.tokens = mx::array(ids.begin(), {T}, mx::int32),
                                 .positions = mx::array(positions.begin(), {T}, mx::int32),
                                 .groups = std::vector<AttentionBatch>(n_groups, batch),
                                 .logit_rows = rows});
    mx::eval(decoder_.state());
    return floats_of(outputs.logits);
  }

 private:
  Exec exec_;
  Decoder decoder_;
  std::vector<int32_t> blocks_ = {5, 2, 3, 0, 1, 4};
  int n_ = 0;
};

inline std::vector<int32_t> some_ids(int n) {
  std::vector<int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back((i * i * 7 + 3 * i + 5) % 41);
  return ids;
}

}  // namespace mlxforge::testing
