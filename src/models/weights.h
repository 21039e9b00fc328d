// Binds weights by name, once, at load: a checkpoint's tensors as PackedWeight, Linear and Norm in
// the form of exec's kernels.
#pragma once

#include <string>
#include <vector>

#include "kernels/exec.h"
#include "models/checkpoint.h"
#include "models/spec.h"

namespace mlxforge {

struct NamedPart {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  int n_out = 0;
};

class WeightLoader {
 public:
  // All three must outlive the loader.
  WeightLoader(Checkpoint& checkpoint, const Exec& exec, const ModelSpec& spec);

  PackedWeight matrix(const std::string& name, int n_out, int n_in);
  Linear linear(const std::vector<NamedPart>& parts, int n_in, bool bias);
  Norm norm(const std::string& name);  // of d_model values, with the spec's kind and eps

 private:
  mx::array floats(const std::vector<float>& values);  // in exec.between()

  Checkpoint& checkpoint_;
  const Exec& exec_;
  const ModelSpec& spec_;
};

// Divides the inverse frequencies of every layer by a GGUF's rope_freqs.weight, when there is one:
// that is how it stores llama3 scaling.
void apply_rope_divisors(Checkpoint& checkpoint, ModelSpec& spec);

}  // namespace mlxforge
