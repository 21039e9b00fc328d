// From a checkpoint's tensors to a PackedWeight in the form that the kernels of `exec` read: panels
// on CPU, stock MLX arrays on the reference path. Weights stay in their own bits on both.
#pragma once

#include "kernels/exec.h"
#include "kernels/weight.h"
#include "quant/weight_source.h"

namespace mlxforge {

// Throws Error naming the tensor when its format is not known or its shape is not (n_out, n_in).
PackedWeight load_weight(const WeightSource& source, int n_out, int n_in, const Exec& exec);

}  // namespace mlxforge
