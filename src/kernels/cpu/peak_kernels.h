// The inner instructions on registers, `steps` times; each returns the operations done by one call.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa.h"

namespace mlxforge::cpu {

struct PeakKernels {
  int64_t (*f32)(int64_t steps, float* sink) noexcept;
  int64_t (*int16)(int64_t steps, float* sink) noexcept;
  int64_t (*int8)(int64_t steps, float* sink) noexcept;
};

}  // namespace mlxforge::cpu
