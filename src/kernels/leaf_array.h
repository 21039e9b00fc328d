// Evaluated arrays over memory that we chose, for code that writes through their pointers. The
// worker thread only.
#pragma once

#include <string_view>

#include "kernels/mx.h"

namespace mlxforge {

// An array over `data`, which has room for it.
mx::array array_over(const mx::Shape& shape, mx::Dtype dtype, mx::allocator::Data data);

// An array with memory of its own, nothing written yet. Throws Error, saying what it is for, when
// there is no memory (MLX's own allocation would be a null pointer).
mx::array leaf_array(const mx::Shape& shape, mx::Dtype dtype, std::string_view what);

}  // namespace mlxforge
