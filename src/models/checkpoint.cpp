#include "models/checkpoint.h"

#include "base/check.h"
#include "models/gguf.h"
#include "quant/formats/plain.h"

namespace mlxforge {
namespace {

// Buffers that older checkpoints carry and that the spec computes itself.
bool is_recomputed(std::string_view name) { return name.ends_with("rotary_emb.inv_freq"); }

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace

Checkpoint::Checkpoint(const ModelFiles& files)
    : files_(files), config_(files.gguf ? gguf_config(*files.gguf, files.weights) : files.config) {
  if (!files.gguf) quant_ = QuantConfig(config_);
}

std::string Checkpoint::stored_name(std::string_view tensor) const {
  return files_.gguf ? gguf_tensor_name(tensor) : std::string(tensor);
}

bool Checkpoint::has(std::string_view tensor) const {
  return files_.weights.find(stored_name(tensor)) != nullptr;
}

const TensorView& Checkpoint::use(const std::string& tensor) {
  const auto name = stored_name(tensor);
  used_.insert(name);
  return files_.weights.at(name);
}

WeightSource Checkpoint::matrix(const std::string& layer) {
  WeightSource source{.name = layer, .weight = &use(layer + ".weight")};
  if (!has(layer + ".scales")) return source;
  const AffineBits bits = quant_.for_layer(layer);
  if (!quant_.present() || bits.bits == 0) {
    fail("models", "expected the config's quantization to cover ", layer,
         ", which has scales; got nothing for it");
  }
  source.scales = &use(layer + ".scales");
  source.biases = &use(layer + ".biases");
  source.bits = bits.bits;
  source.group = bits.group;
  return source;
}

std::vector<float> Checkpoint::vector(const std::string& tensor, int n) {
  const TensorView& view = use(tensor);
  if (view.shape != std::vector<int64_t>{n} || !is_float(view.dtype)) {
    fail("models", "expected ", view.name, " to be ", n, " floats, got ", dtype_name(view.dtype),
         shape_text(view.shape));
  }
  return to_floats(view.dtype, view.bytes);
}

void Checkpoint::check_all_used() const {
  for (const TensorView& view : files_.weights.tensors()) {
    if (!used_.contains(view.name) && !is_recomputed(view.name)) {
      fail("models", "unused tensor ", view.name, " ", shape_text(view.shape),
           ": the config does not account for it, so the result would differ from the model's");
    }
  }
}

DType Checkpoint::float_dtype() const {
  if (files_.gguf) return DType::f32;
  const char* name =
      has("model.embed_tokens.scales") ? "model.embed_tokens.scales" : "model.embed_tokens.weight";
  const TensorView& view = files_.weights.at(name);
  if (!is_float(view.dtype)) {
    fail("models", "expected ", name, " to be F32, F16 or BF16, got ", dtype_name(view.dtype));
  }
  return view.dtype;
}

DType Checkpoint::kv_dtype() const {
  if (!files_.gguf) return float_dtype();
  const DType matrices = files_.weights.at("blk.0.attn_q.weight").dtype;
  return is_float(matrices) ? matrices : DType::f16;
}

}  // namespace mlxforge
