// The epilogue of linear(), and its table.
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/simd_math.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

F32 activate(Act act, F32 x) {
  const F32 half = splat(0.5f), one = splat(1.0f);
  switch (act) {
    case Act::none:
      return x;
    case Act::silu:
      return silu(x);
    case Act::gelu:
      return half * x * (one + erf(x * splat(0.70710678f)));
    case Act::gelu_tanh:
      return half * x * (one + tanh(splat(0.79788456f) * fma(splat(0.044715f) * x, x * x, x)));
    case Act::relu:
      return where_lt(x, zero(), zero(), x);
  }
  return x;
}

// v = (sum + bias) * scale, softcapped.
F32 value(const LinearArgs& args, const float* sums, const float* bias, int at, int lanes) {
  F32 v = load(sums + at);
  if (bias != nullptr) v = v + load_n(bias + at, lanes);
  if (args.scale != 1.0f) v = v * splat(args.scale);
  if (args.softcap != 0.0f) v = splat(args.softcap) * tanh(v / splat(args.softcap));
  return v;
}

void finish_row(const Finish& f, int t) {
  const LinearArgs& args = *f.args;
  const ptrdiff_t row = static_cast<ptrdiff_t>(t) * f.n_out + f.column;
  const ptrdiff_t sums = static_cast<ptrdiff_t>(t - f.rows.begin) * kPanelRows;
  for (int at = 0; at < f.n; at += kLanes) {
    const int lanes = f.n - at < kLanes ? f.n - at : kLanes;
    F32 v = activate(args.act, value(args, f.sums + sums, f.bias, at, lanes));
    if (f.up != nullptr) v = v * value(args, f.up + sums, f.up_bias, at, lanes);
    if (args.residual != nullptr) v = v + load_n(args.residual + row + at, lanes);
    if (args.round == Round::f16) v = round_f16(v);
    if (args.round == Round::bf16) v = round_bf16(v);
    store_n(args.y + row + at, v, lanes);
  }
}

}  // namespace

void finish(const Finish& f) noexcept {
  for (int t = f.rows.begin; t < f.rows.end; ++t) finish_row(f, t);
}

extern const LinearKernels linear_kernels = {kDot8Bits,   prepare,      multiply_i16,
                                             multiply_i8, multiply_f32, finish};

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
