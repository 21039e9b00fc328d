#include "kernels/norm_linear.h"

#include "kernels/eager.h"
#include "kernels/reference.h"

namespace mlxforge {

mx::array norm_linear(const Exec& exec, const mx::array& x, const Norm& norm,
                      const Linear& linear) {
  const OpTimer timer = exec.timer(Op::norm_linear);
  if (!exec.on_cpu()) return reference::linear(reference::norm(x, norm), linear);
  return run_linear(exec, x, norm, linear, {});
}

}  // namespace mlxforge
