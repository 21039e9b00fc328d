// 16-bit floats as the grid that exact arithmetic rounds to: mlx-lm keeps arrays in the
// checkpoint's dtype, we keep them in f32 with the same values. Compiled once, for any machine.
#pragma once

#include <cstdint>

#include "kernels/cpu/panels.h"

namespace mlxforge::cpu {

enum class Round : uint8_t { none, f16, bf16 };

float round_to(Round round, float x);  // to nearest, ties to even
float from_f16(uint16_t bits);
float from_bf16(uint16_t bits);

// Whether the scales of integer codes lie on the grid: MLX then dequantises in their type, rounding
// every operation.
bool scales_on_grid(Round round, const Layout& layout);

}  // namespace mlxforge::cpu
