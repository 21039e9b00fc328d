// y = Linear(Norm(x)): the q|k|v projection with its norm in front, and (through head.h) the output
// projection.
#pragma once

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

// x (T, n_in) -> (T, n_out), both in exec.between().
mx::array norm_linear(const Exec& exec, const mx::array& x, const Norm& norm, const Linear& linear);

}  // namespace mlxforge
