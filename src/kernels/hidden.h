// hidden = Norm(x), always f32: what the head reads, for the rows that want it themselves.
#pragma once

#include <vector>

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

// x (T, n), rows: the R row numbers -> (R, n) f32
mx::array hidden(const Exec& exec, const mx::array& x, const std::vector<int32_t>& rows,
                 const Norm& norm);

}  // namespace mlxforge
