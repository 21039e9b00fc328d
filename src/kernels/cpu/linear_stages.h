// The stages of linear() for one ISA; each lives in its own *_kernels.cpp, and linear_kernels.cpp
// puts them into the table.
#pragma once

#include "kernels/cpu/linear_kernels.h"
#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

MLXFORGE_INLINE F32 round_to(Round round, F32 x) {
  return round == Round::f16 ? round_f16(x) : round == Round::bf16 ? round_bf16(x) : x;
}

void prepare(const LinearArgs& args, int n_in, const Activations& act, Rows rows) noexcept;
void multiply_i16(const Product& p) noexcept;
void multiply_i8(const Product& p) noexcept;
void multiply_f32(const Product& p) noexcept;
void multiply_rounded(const Product& p) noexcept;
void finish(const Finish& f) noexcept;

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
