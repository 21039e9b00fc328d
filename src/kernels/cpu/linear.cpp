#include "kernels/cpu/linear.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/linear_kernels.h"

namespace mlxforge::cpu {

MLXFORGE_CPU_TABLE(LinearKernels, linear_kernels)

namespace {

using Multiply = void (*)(const Product&) noexcept;

// One call of linear(), resolved: which kernel each part takes, and how the work is cut. A unit is
// up to unit_panels neighbouring panels of a part (gated: of gate and of up), times a block of
// rows.
struct Plan {
  const LinearArgs& args;
  const LinearKernels& kernels;
  int n_in;
  int n_out = 0;  // N
  int unit_panels;
  Activations act;

  Plan(const LinearArgs& a, int threads)
      : args(a), kernels(linear_kernels(a.isa)), n_in(a.parts[0]->n_in()) {
    int n_panels = 0;
    for (const PackedMatrix* w : a.parts) {
      n_out += w->n_out();
      n_panels += w->n_panels();
    }
    if (a.gated) n_out /= 2;
    act.n_rows = a.n_rows;
    // Several panels share the reading of activations, unless that leaves threads without work.
    const bool many = n_panels * n_blocks() >= 8 * kMaxPanels * threads;
    unit_panels = a.n_rows > kFewRows && many ? kMaxPanels : 1;
  }

  int n_blocks() const { return (args.n_rows + kMaxRows - 1) / kMaxRows; }
  int n_units(const PackedMatrix& w) const {
    return (w.n_panels() + unit_panels - 1) / unit_panels;
  }
  int n_units() const {
    int n = 0;
    for (const PackedMatrix* w : args.parts) n += n_units(*w);
    return args.gated ? n / 2 : n;
  }
  size_t unit_bytes() const {
    return args.parts[0]->panel_bytes() * static_cast<size_t>(unit_panels) * (args.gated ? 2 : 1);
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

  void multiply(const PackedMatrix& w, int panel, int n_panels, Rows rows, float* out) const {
    kernel(w.layout())(
        {&w.layout(), w.panel(panel), w.panel_bytes(), n_panels, n_in, act, rows, out});
  }

  void run_unit(int unit, Rows rows) const {
    alignas(64) float sums[2][kMaxPanels * kMaxRows * kPanelRows];
    int part = 0, column = 0;
    for (; unit >= n_units(*args.parts[part]); ++part) {
      unit -= n_units(*args.parts[part]);
      column += args.parts[part]->n_out();
    }
    const PackedMatrix& w = *args.parts[part];
    const int first = unit * unit_panels, n = std::min(unit_panels, w.n_panels() - first);
    multiply(w, first, n, rows, sums[0]);
    if (args.gated) multiply(*args.parts[1], first, n, rows, sums[1]);
    for (int i = 0; i < n; ++i) {
      const ptrdiff_t at = ptrdiff_t{i} * (rows.end - rows.begin) * kPanelRows;
      finish_panel(w, first + i, column, rows, sums[0] + at, sums[1] + at);
    }
  }

  // `column`: where the panel's part begins in y.
  void finish_panel(const PackedMatrix& w, int panel, int column, Rows rows, const float* sums,
                    const float* up) const {
    column += panel * kPanelRows;
    const float* bias = args.bias != nullptr ? args.bias + column : nullptr;
    kernels.finish({.args = &args,
                    .n_out = n_out,
                    .sums = sums,
                    .up = args.gated ? up : nullptr,
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

// Units per chunk: about 32 KiB of weights, at least eight chunks a thread where there are that
// many.
int units_per_chunk(const Plan& plan, int n_units, int threads) {
  const int by_size = static_cast<int>((size_t{32} << 10) / plan.unit_bytes());
  return std::max(1, std::min(by_size, n_units / (8 * threads)));
}

// f(chunk) for all n chunks. Each thread walks a contiguous share of them, because memory is read
// fastest in long runs, and then helps with what is left of the others'.
template <class F>
void run_shares(int n, Workspace& workspace, ThreadPool& pool, F&& f) {
  const int threads = pool.size();
  auto& shares = workspace.shares;
  if (shares.size() != static_cast<size_t>(threads))
    shares = std::vector<Workspace::Share>(static_cast<size_t>(threads));
  const auto bound = [n, threads](int i) { return static_cast<int>(int64_t{n} * i / threads); };
  for (int i = 0; i < threads; ++i) {
    shares[static_cast<size_t>(i)].next.store(bound(i), std::memory_order_relaxed);
    shares[static_cast<size_t>(i)].end = bound(i + 1);
  }
  pool.run(threads, [&](int own, int) noexcept {
    for (int i = 0; i < threads; ++i) {
      auto& share = shares[static_cast<size_t>((own + i) % threads)];
      for (int chunk; (chunk = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        f(chunk);
    }
  });
}

void prepare(const Plan& plan, ThreadPool& pool) {
  const int n_rows = plan.args.n_rows;
  if (n_rows < 2 * pool.size())
    return plan.kernels.prepare(plan.args, plan.n_in, plan.act, {0, n_rows});
  const int step = std::clamp(n_rows / (4 * pool.size()), 1, 16);
  pool.run((n_rows + step - 1) / step, [&](int chunk, int) noexcept {
    plan.kernels.prepare(plan.args, plan.n_in, plan.act,
                         {chunk * step, std::min(n_rows, (chunk + 1) * step)});
  });
}

}  // namespace

void linear(const LinearArgs& args, Workspace& workspace, ThreadPool& pool) {
  check_args(args);
  if (args.n_rows == 0) return;
  Plan plan(args, pool.size());
  plan.place(workspace);
  prepare(plan, pool);
  const int n_units = plan.n_units(), step = units_per_chunk(plan, n_units, pool.size());
  const int n_steps = (n_units + step - 1) / step;
  run_shares(n_steps * plan.n_blocks(), workspace, pool, [&](int chunk) {
    const int first_row = chunk / n_steps * kMaxRows, first = chunk % n_steps * step;
    const Rows rows = {first_row, std::min(args.n_rows, first_row + kMaxRows)};
    for (int unit = first; unit < std::min(n_units, first + step); ++unit)
      plan.run_unit(unit, rows);
  });
}

}  // namespace mlxforge::cpu
