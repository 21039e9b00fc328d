// MLX affine quantisation, bits 2, 3, 4, 5, 6 or 8.
#pragma once

#include "quant/format.h"

namespace mlxforge {

extern const Format kAffine;

}  // namespace mlxforge
