// The kernels of rope_append for one ISA.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/cpu/rope.h"

namespace mlxforge::cpu {

// Limits of the kernels' stack buffers, in floats.
inline constexpr int kMaxRopeDims = 1024;
inline constexpr int kMaxKeyRow = 16384;  // n_kv * d_k

struct RopeKernels {
  void (*append)(const RopeAppendArgs&, int first_token, int last_token) noexcept;
};
MLXFORGE_CPU_TABLE(RopeKernels, rope_kernels)

}  // namespace mlxforge::cpu
