// The quantization object of an MLX checkpoint's config: bits and group size for all layers, and
// per-layer overrides.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "files/json.h"

namespace mlxforge {

struct AffineBits {
  int bits = 0;   // 2, 3, 4, 5, 6 or 8
  int group = 0;  // 32, 64 or 128 weights share a scale and a bias
};

class QuantConfig {
 public:
  QuantConfig() = default;
  // Reads config["quantization"] (or quantization_config, its twin in MLX checkpoints). Error for a
  // mode other than affine, unusual bits or groups, and for the quant_method of another project
  // (gptq, awq, fp8, ...).
  explicit QuantConfig(const Json& config);

  bool present() const { return present_; }
  // For a layer such as "model.layers.0.mlp.up_proj"; bits 0 where the config says the layer is not
  // quantised.
  AffineBits for_layer(std::string_view layer) const;

 private:
  bool present_ = false;
  AffineBits all_;
  std::map<std::string, AffineBits, std::less<>> overrides_;
};

}  // namespace mlxforge
