// x' = residual + Linear(y): the output projections of attention and feed-forward.
#pragma once

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

// y (T, n_in), residual (T, n_out) -> (T, n_out)
mx::array linear_residual(const Exec& exec, const mx::array& y, const Linear& linear,
                          const mx::array& residual);

}  // namespace mlxforge
