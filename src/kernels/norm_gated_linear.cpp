#include "kernels/norm_gated_linear.h"

#include "base/check.h"
#include "kernels/eager.h"
#include "kernels/reference.h"

namespace mlxforge {

mx::array norm_gated_linear(const Exec& exec, const mx::array& x, const Norm& norm,
                            const Linear& gate_up, Activation act) {
  check(gate_up.parts.size() == 2 && gate_up.parts[0].n_out == gate_up.parts[1].n_out,
        "gate_up needs two parts of one size");
  const OpTimer timer = exec.timer(Op::norm_gated_linear);
  if (exec.on_cpu()) return run_linear(exec, x, norm, gate_up, {.gate = act});
  const auto halves = mx::split(reference::linear(reference::norm(x, norm), gate_up), 2, -1);
  return reference::activate(halves[0], act) * halves[1];
}

}  // namespace mlxforge
