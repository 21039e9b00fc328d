// The stages of linear() for one ISA; each lives in its own *_kernels.cpp, and linear_kernels.cpp
// puts them into the table.
#pragma once

#include "kernels/cpu/linear_kernels.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

void prepare(const LinearArgs& args, int n_in, const Activations& act, Rows rows) noexcept;
void multiply_i16(const Product& p) noexcept;
void multiply_i8(const Product& p) noexcept;
void multiply_f32(const Product& p) noexcept;
void finish(const Finish& f) noexcept;

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
