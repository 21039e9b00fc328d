// logits = softcap(Linear(Norm(x))), always f32: the last op of a step, on the rows that need it.
#pragma once

#include <vector>

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

struct HeadSpec {
  float softcap = 0;  // cap * tanh(x / cap); 0: none
};

// x (T, n_in), rows: the R row numbers that want logits -> (R, vocab) f32
mx::array head(const Exec& exec, const mx::array& x, const std::vector<int32_t>& rows,
               const Norm& norm, const Linear& linear, const HeadSpec& spec);

}  // namespace mlxforge
