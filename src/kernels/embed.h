// x = embedding[tokens] * scale: the first op of a step.
#pragma once

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

// tokens (T) int32, each below table.n_out -> (T, d_model) in exec.between()
mx::array embed(const Exec& exec, const mx::array& tokens, const PackedWeight& table, float scale);

}  // namespace mlxforge
