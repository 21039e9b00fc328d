#include "app/model_summary.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>

#include "engine/load.h"
#include "kernels/dtype.h"
#include "models/family.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace mlxforge {
namespace {

std::string family(const ModelFiles& files) {
  if (files.gguf)
    return std::string(files.gguf->get_or<std::string_view>("general.architecture", "unknown"));
  const auto type = files.config.find("model_type");
  return type != files.config.end() && type->is_string() ? type->get<std::string>() : "unknown";
}

// The weights in one dtype or coding; `bytes` with their scales and biases.
struct WeightShare {
  int64_t parameters = 0;
  int64_t bytes = 0;

  void add(int64_t n, const TensorView& tensor) {
    parameters += n;
    bytes += static_cast<int64_t>(tensor.bytes.size());
  }
  std::string bits_per_weight() const {
    return str(std::fixed, std::setprecision(2), 8.0 * bytes / std::max<int64_t>(parameters, 1));
  }
};

// Tables that the model computes with and nobody trained.
bool is_buffer(std::string_view name) {
  return name == "rope_freqs.weight" || name.ends_with("rotary_emb.inv_freq");
}

std::map<std::string, WeightShare> weight_shares(Checkpoint& checkpoint) {
  std::map<std::string, WeightShare> shares;
  for (const TensorView& tensor : checkpoint.files().weights.tensors()) {
    const size_t dot = std::min(tensor.name.rfind('.'), tensor.name.size());
    const std::string layer = tensor.name.substr(0, dot), part = tensor.name.substr(dot);
    const bool coded = checkpoint.has(layer + ".scales");
    if (is_buffer(tensor.name) || (coded && (part == ".scales" || part == ".biases"))) continue;
    if (!coded || part != ".weight") {
      shares[std::string(dtype_name(tensor.dtype))].add(tensor.n_elements(), tensor);
      continue;
    }
    const WeightSource source = checkpoint.matrix(layer);
    WeightShare& share = shares[str(source.bits, " bits in groups of ", source.group)];
    share.add(static_cast<int64_t>(tensor.bytes.size()) * 8 / source.bits, tensor);
    share.bytes += source.scales->bytes.size() + source.biases->bytes.size();
  }
  return shares;
}

std::string describe_weights(Checkpoint& checkpoint) {
  WeightShare all;
  std::string lines;
  for (const auto& [coding, share] : weight_shares(checkpoint)) {
    all.parameters += share.parameters;
    all.bytes += share.bytes;
    lines += str("  ", coding, ": ", share.parameters, " parameters, ", share.bits_per_weight(),
                 " bits per weight\n");
  }
  return str("parameters: ", all.parameters, ", ", all.bits_per_weight(), " bits per weight\n",
             lines);
}

std::string describe_attention(const ModelSpec& spec) {
  const AttentionShape& shape = spec.layers.front().attention.shape;
  std::string text = str("attention: ", shape.n_q, " heads, ", shape.n_kv,
                         " key/value heads, head_dim ", shape.d_k);
  const auto windowed = std::ranges::find_if(
      spec.layers, [](const LayerSpec& layer) { return layer.attention.window > 0; });
  if (windowed != spec.layers.end())
    text += str(", window ", windowed->attention.window, " in ",
                std::ranges::count_if(
                    spec.layers, [](const LayerSpec& layer) { return layer.attention.window > 0; }),
                " layers");
  return text + "\n";
}

std::string describe_rope(const Checkpoint& checkpoint) {
  ConfigReader config(checkpoint.config(), "the config");
  const Json* parameters = config.value("rope_parameters");
  if (!parameters) parameters = config.value("rope_scaling");
  const Json none = Json::object();
  ConfigReader rope(parameters ? *parameters : none, "rope_parameters");
  const double base = rope.number_or("rope_theta", config.number_or("rope_theta", 10000));
  std::string text = str("rope: base ", std::setprecision(12), base, ", ",
                         rope.string_or("rope_type", rope.string_or("type", "default")));
  if (rope.has("factor")) text += str(" scaling by ", rope.number("factor"));
  if (checkpoint.has("rope_freqs.weight")) text += ", scaled by rope_freqs.weight";
  return text + "\n";
}

int64_t kv_bytes_per_token(const ModelSpec& spec, mx::Dtype dtype) {
  int64_t values = 0;
  for (const auto& [attention, unused] : spec.layers)
    values += int64_t{attention.shape.n_kv} * (attention.shape.d_k + attention.shape.d_v);
  return values * static_cast<int64_t>(mx::size_of(dtype));
}

std::string describe_tokenizer(const ModelFiles& files) {
  const Tokenizer tokenizer = Tokenizer::of(files);
  std::string kind;
  if (files.gguf) {
    kind = files.gguf->get<std::string_view>("tokenizer.ggml.model");
    const auto pre = files.gguf->get_or<std::string_view>("tokenizer.ggml.pre", "");
    if (!pre.empty()) kind += str(", pre ", pre);
  } else {
    kind = parse_json_file(files.tokenizer_json)["model"].value("type", "BPE");
  }
  return str("tokenizer: ", kind, ", ", tokenizer.vocab_size(), " tokens\n");
}

}  // namespace

std::string describe_files(const ModelFiles& files) {
  return str("model: ", files.name, "\nformat: ", files.gguf ? "GGUF" : "safetensors",
             "\nfamily: ", family(files), "\nweights: ", files.weights.tensors().size(),
             " tensors, ", files.weights.total_bytes(), " bytes\n");
}

std::string describe_model(const ModelFiles& files, const EngineOptions& options) {
  Checkpoint checkpoint(files);
  const ModelSpec spec = read_spec(checkpoint.config());
  const mx::Dtype kv = kv_dtype(options, checkpoint);
  return str(describe_weights(checkpoint), "layers: ", spec.layers.size(),
             "\nhidden size: ", spec.d_model, ", feed-forward ",
             spec.layers.front().feed_forward.d_ff, "\n", describe_attention(spec),
             "vocabulary: ", spec.vocab, "\ncontext: ", spec.max_ctx, " tokens\n",
             describe_rope(checkpoint), "KV cache: ", kv_bytes_per_token(spec, kv),
             " bytes per token, in ", dtype_name(kv), "\n");
}

std::string describe_text(const ModelFiles& files) {
  std::string text = files.has_tokenizer() ? describe_tokenizer(files) : "tokenizer: none\n";
  const auto source = TemplateSource::of(files);
  text += !source                    ? "chat template: none\n"
          : source->tool_use.empty() ? "chat template: yes\n"
                                     : "chat template: yes, and one for tools\n";
  return text;
}

}  // namespace mlxforge
