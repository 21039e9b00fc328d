// Pieces the references of several ops share, in stock MLX ops. x is (T, n) in the activation dtype
// throughout.
#pragma once

#include "kernels/weight.h"

namespace mlxforge::reference {

mx::array norm(const mx::array& x, const Norm& norm);
mx::array linear(const mx::array& x, const Linear& linear);  // all parts, side by side, plus bias
mx::array activate(const mx::array& x, Activation act);

}  // namespace mlxforge::reference
