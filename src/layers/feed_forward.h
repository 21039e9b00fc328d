// The dense gated feed-forward part of a layer, norm in front and residual behind.
#pragma once

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

struct FeedForward {
  Norm norm;
  Linear gate_up;
  Linear down;
  Activation act = Activation::silu;

  // x (T, d_model) -> (T, d_model)
  mx::array forward(const Exec& exec, const mx::array& x) const;
};

}  // namespace mlxforge
