// GGUF Q4_1.
#pragma once

#include "quant/format.h"

namespace mlxforge {

extern const Format kQ4_1;

}  // namespace mlxforge
