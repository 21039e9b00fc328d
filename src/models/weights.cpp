#include "models/weights.h"

#include "base/check.h"
#include "quant/load.h"

namespace mlxforge {

WeightLoader::WeightLoader(Checkpoint& checkpoint, const Exec& exec, const ModelSpec& spec)
    : checkpoint_(checkpoint), exec_(exec), spec_(spec) {}

PackedWeight WeightLoader::matrix(const std::string& name, int n_out, int n_in) {
  const WeightSource source = checkpoint_.matrix(name);
  PackedWeight packed = load_weight(source, n_out, n_in, exec_);
  const auto& weights = checkpoint_.files().weights;
  for (const TensorView* view : {source.weight, source.scales, source.biases}) {
    if (view) weights.release(*view);
  }
  return packed;
}

Linear WeightLoader::linear(const std::vector<NamedPart>& parts, int n_in, bool bias) {
  Linear linear;
  std::vector<float> biases;
  for (const auto& [name, n_out] : parts) {
    linear.parts.push_back(matrix(name, n_out, n_in));
    if (!bias) continue;
    const auto part = checkpoint_.vector(name + ".bias", n_out);
    biases.insert(biases.end(), part.begin(), part.end());
  }
  if (bias) linear.bias = floats(biases);
  return linear;
}

Norm WeightLoader::norm(const std::string& name) {
  return {.kind = spec_.norm,
          .weight = floats(checkpoint_.vector(name + ".weight", spec_.d_model)),
          .bias = {},
          .eps = spec_.norm_eps};
}

mx::array WeightLoader::floats(const std::vector<float>& values) {
  mx::array array(values.begin(), {static_cast<int>(values.size())}, mx::float32);
  if (exec_.between() == mx::float32) return array;
  array = mx::astype(array, exec_.between());
  array.eval();
  return array;
}

void apply_rope_divisors(Checkpoint& checkpoint, ModelSpec& spec) {
  constexpr const char* kName = "rope_freqs.weight";
  if (!checkpoint.has(kName)) return;
  for (auto& layer : spec.layers) {
    auto& inv_freq = layer.attention.rope.inv_freq;
    const auto divisors = checkpoint.vector(kName, static_cast<int>(inv_freq.size()));
    for (size_t i = 0; i < inv_freq.size(); ++i) {
      if (!(divisors[i] > 0)) fail("models", "expected ", kName, " above 0, got ", divisors[i]);
      inv_freq[i] /= divisors[i];
    }
  }
}

}  // namespace mlxforge
