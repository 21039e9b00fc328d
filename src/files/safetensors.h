// Reader of one safetensors file (https://huggingface.co/docs/safetensors). The layout is drawn in
// safetensors.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "files/tensor.h"

namespace mlxforge {

// The tensors of `file` in the order of their bytes, as views into it. `name` is what errors call
// the file. Throws Error, naming the file and the tensor, unless every byte of the file belongs to
// the header or to exactly one tensor and each tensor's size is that of its shape.
std::vector<TensorView> parse_safetensors(std::span<const std::byte> file, std::string_view name);

}  // namespace mlxforge
