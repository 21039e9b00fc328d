// One logical weight matrix as the checkpoint stores it, before anyone has looked at its format.
#pragma once

#include "files/tensor.h"

namespace mlxforge {

struct WeightSource {
  std::string name;  // for messages, and for the overrides of a quantisation config
  const TensorView* weight = nullptr;  // never null
  const TensorView* scales = nullptr;  // MLX affine: beside it
  const TensorView* biases = nullptr;
  int bits = 0;  // MLX affine: from the config
  int group = 0;
};

}  // namespace mlxforge
