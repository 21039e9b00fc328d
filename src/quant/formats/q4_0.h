// GGUF Q4_0.
#pragma once

#include "quant/format.h"

namespace mlxforge {

extern const Format kQ4_0;

}  // namespace mlxforge
