// GGUF Q8_0.
#pragma once

#include "quant/format.h"

namespace mlxforge {

extern const Format kQ8_0;

}  // namespace mlxforge
