// A checkpoint under the names and in the config form of Hugging Face, whichever file format it
// has. Remembers which tensors were asked for, so that a tensor nobody used is an error and not a
// silently dropped bias.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "files/model_folder.h"
#include "quant/config.h"
#include "quant/weight_source.h"

namespace mlxforge {

class Checkpoint {
 public:
  explicit Checkpoint(const ModelFiles& files);  // which must outlive it

  // In Hugging Face's form: config.json itself, or made from GGUF metadata.
  const Json& config() const { return config_; }
  const ModelFiles& files() const { return files_; }

  // `layer` is a name such as "model.layers.0.self_attn.q_proj"; tensors are layer.weight,
  // layer.bias, ...
  bool has(std::string_view tensor) const;
  WeightSource matrix(const std::string& layer);
  std::vector<float> vector(const std::string& tensor, int n);  // a float tensor of shape (n)
  void ignore(std::string_view tensor) { used_.emplace(stored_name(tensor)); }
  // Throws Error naming a tensor that nobody asked for.
  void check_all_used() const;

  // The float dtype that the checkpoint computes in: that of the embedding (its scales when
  // quantised); f32 for every GGUF.
  DType float_dtype() const;
  // Whether it is an MLX-quantised checkpoint.
  bool quantised() const { return quant_.present(); }
  // What K and V are kept in: float_dtype, but for a GGUF the dtype of its float matrices, f16 when
  // quantised.
  DType kv_dtype() const;

 private:
  std::string stored_name(std::string_view tensor) const;
  const TensorView& use(const std::string& tensor);

  const ModelFiles& files_;
  Json config_;
  QuantConfig quant_;
  std::set<std::string, std::less<>> used_;  // as stored
};

}  // namespace mlxforge
