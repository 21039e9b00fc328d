// Names of MLX's float dtypes, as options spell them.
#pragma once

#include <string>

#include "kernels/mx.h"

namespace mlxforge {

inline std::string dtype_name(mx::Dtype d) {
  return d == mx::float16 ? "f16" : d == mx::bfloat16 ? "bf16" : "f32";
}

}  // namespace mlxforge
