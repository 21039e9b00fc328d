#include "kernels/head.h"

#include "kernels/eager.h"
#include "kernels/reference.h"

namespace mlxforge {
namespace {

mx::array head_reference(const mx::array& x, const std::vector<int32_t>& rows, const Norm& norm,
                         const Linear& linear, const HeadSpec& spec) {
  const mx::array index(rows.begin(), {static_cast<int>(rows.size())}, mx::int32);
  const auto picked = mx::take(x, index, 0);
  const auto y = mx::astype(reference::linear(reference::norm(picked, norm), linear), mx::float32);
  if (spec.softcap == 0) return y;
  return mx::array(spec.softcap) * mx::tanh(y / mx::array(spec.softcap));
}

}  // namespace

mx::array head(const Exec& exec, const mx::array& x, const std::vector<int32_t>& rows,
               const Norm& norm, const Linear& linear, const HeadSpec& spec) {
  if (rows.empty()) return mx::zeros({0, linear.n_out()}, mx::float32);
  const OpTimer timer = exec.timer(Op::head);
  if (!exec.on_cpu()) return head_reference(x, rows, norm, linear, spec);
  return run_linear(exec, x, norm, linear, {.softcap = spec.softcap, .rows = &rows});
}

}  // namespace mlxforge
