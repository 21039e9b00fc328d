#include "layers/feed_forward.h"

#include "kernels/linear_residual.h"
#include "kernels/norm_gated_linear.h"

namespace mlxforge {

mx::array FeedForward::forward(const Exec& exec, const mx::array& x) const {
  return linear_residual(exec, norm_gated_linear(exec, x, norm, gate_up, act), down, x);
}

}  // namespace mlxforge
