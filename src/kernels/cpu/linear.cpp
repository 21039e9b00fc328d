#include "kernels/cpu/linear.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/linear_kernels.h"

namespace mlxforge::cpu {

MLXFORGE_CPU_TABLE(LinearKernels, linear_kernels)

namespace {

using Multiply = void (*)(const Product&) noexcept;

// One call of linear(), resolved: which kernel each part takes, and how the work is cut into units
// of one panel (or one gate and one up panel) times a block of rows.
struct Plan {
  const LinearArgs& args;
  const LinearKernels& kernels;
  int n_in;
  int n_out = 0;  // N
  Activations act;

  Plan(const LinearArgs& a) : args(a), kernels(linear_kernels(a.isa)), n_in(a.parts[0]->n_in()) {
    for (const PackedMatrix* w : a.parts) n_out += w->n_out();
    if (a.gated) n_out /= 2;
    act.n_rows = a.n_rows;
  }

  int n_units() const {
    int n = 0;
    for (const PackedMatrix* w : args.parts) n += w->n_panels();
    return args.gated ? n / 2 : n;
  }

  Multiply kernel(const Layout& w) const {
    if (w.is_float() || args.arith == Arith::exact) return kernels.multiply_f32;
    if (args.arith == Arith::int8 && w.bits() <= kernels.int8_bits) return kernels.multiply_i8;
    return kernels.multiply_i16;
  }
  bool needs(Multiply kind) const {
    return std::any_of(args.parts.begin(), args.parts.end(),
                       [&](const PackedMatrix* w) { return kernel(w->layout()) == kind; });
  }

  // Lays the activations that are needed into the workspace.
  void place(Workspace& workspace) {
    const auto rows = static_cast<size_t>(args.n_rows);
    const size_t subs = static_cast<size_t>((n_in + kSub - 1) / kSub) * rows;
    const size_t blocks = static_cast<size_t>((n_in + kFloatBlock - 1) / kFloatBlock) * rows;
    const size_t i16 = needs(kernels.multiply_i16) ? subs * sizeof(ActBlock16) : 0;
    const size_t i8 = needs(kernels.multiply_i8) ? subs * sizeof(ActBlock8) : 0;
    const size_t f32 = needs(kernels.multiply_f32) ? blocks * sizeof(ActBlockF) : 0;
    workspace.activations.reserve(f32 + i16 + i8);
    std::byte* at = workspace.activations.data();
    if (f32 > 0) act.f32 = reinterpret_cast<ActBlockF*>(at);
    if (i16 > 0) act.i16 = reinterpret_cast<ActBlock16*>(at + f32);
    if (i8 > 0) act.i8 = reinterpret_cast<ActBlock8*>(at + f32 + i16);
  }

  void multiply(const PackedMatrix& w, int panel, Rows rows, float* out) const {
    kernel(w.layout())({&w.layout(), w.panel(panel), n_in, act, rows, out});
  }

  void run_unit(int unit, Rows rows) const {
    alignas(64) float sums[2][kMaxRows * kPanelRows];
    int part = 0, column = 0, panel = unit;
    for (; panel >= args.parts[part]->n_panels(); ++part) {
      panel -= args.parts[part]->n_panels();
      column += args.parts[part]->n_out();
    }
    const PackedMatrix& w = *args.parts[part];
    column += panel * kPanelRows;
    multiply(w, panel, rows, sums[0]);
    if (args.gated) multiply(*args.parts[1], panel, rows, sums[1]);
    const float* bias = args.bias != nullptr ? args.bias + column : nullptr;
    kernels.finish({.args = &args,
                    .n_out = n_out,
                    .sums = sums[0],
                    .up = args.gated ? sums[1] : nullptr,
                    .bias = bias,
                    .up_bias = args.gated && bias != nullptr ? bias + n_out : nullptr,
                    .rows = rows,
                    .column = column,
                    .n = std::min(kPanelRows, w.n_out() - panel * kPanelRows)});
  }
};

void check_args(const LinearArgs& a) {
  check(!a.parts.empty() && a.n_rows >= 0, "linear: no parts");
  for (const PackedMatrix* w : a.parts)
    check(w->n_in() == a.parts[0]->n_in(), "linear: parts of ", a.parts[0]->n_in(), " and ",
          w->n_in(), " inputs");
  check(!a.gated || (a.parts.size() == 2 && a.parts[0]->n_out() == a.parts[1]->n_out()),
        "linear: gated wants two parts of one size");
}

// Panels per chunk: about 64 KiB of weights, at least eight chunks a thread where there are that
// many.
int units_per_chunk(const Plan& plan, int n_units, int threads) {
  const size_t unit_bytes = plan.args.parts[0]->panel_bytes() * (plan.args.gated ? 2 : 1);
  const int by_size = static_cast<int>((size_t{64} << 10) / unit_bytes);
  return std::max(1, std::min(by_size, n_units / (8 * threads)));
}

}  // namespace

void linear(const LinearArgs& args, Workspace& workspace, ThreadPool& pool) {
  check_args(args);
  if (args.n_rows == 0) return;
  Plan plan(args);
  plan.place(workspace);
  const int n_rows = args.n_rows;
  if (n_rows < 2 * pool.size()) {
    plan.kernels.prepare(args, plan.n_in, plan.act, {0, n_rows});
  } else {
    const int step = std::clamp(n_rows / (4 * pool.size()), 1, 16);
    pool.run((n_rows + step - 1) / step, [&](int chunk, int) noexcept {
      plan.kernels.prepare(args, plan.n_in, plan.act,
                           {chunk * step, std::min(n_rows, (chunk + 1) * step)});
    });
  }
  const int n_units = plan.n_units();
  const int step = units_per_chunk(plan, n_units, pool.size());
  const int n_steps = (n_units + step - 1) / step, n_blocks = (n_rows + kMaxRows - 1) / kMaxRows;
  pool.run(n_steps * n_blocks, [&](int chunk, int) noexcept {
    const int first_row = chunk / n_steps * kMaxRows, first = chunk % n_steps * step;
    const Rows rows = {first_row, std::min(n_rows, first_row + kMaxRows)};
    for (int unit = first; unit < std::min(n_units, first + step); ++unit)
      plan.run_unit(unit, rows);
  });
}

}  // namespace mlxforge::cpu
