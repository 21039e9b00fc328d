// Float weights: row-major f32, f16 or bf16, little-endian.
#pragma once

#include <span>
#include <vector>

#include "quant/format.h"

namespace mlxforge {

extern const Format kPlain;

// f32, f16 or bf16 bytes as f32 values, exactly.
std::vector<float> to_floats(DType dtype, std::span<const std::byte> bytes);

}  // namespace mlxforge
