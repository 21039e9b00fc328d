#include "kernels/linear_residual.h"

#include "kernels/eager.h"
#include "kernels/reference.h"

namespace mlxforge {

mx::array linear_residual(const Exec& exec, const mx::array& y, const Linear& linear,
                          const mx::array& residual) {
  const OpTimer timer = exec.timer(Op::linear_residual);
  if (!exec.on_cpu()) return residual + reference::linear(y, linear);
  return run_linear(exec, y, Norm{}, linear, {.residual = &residual});
}

}  // namespace mlxforge
