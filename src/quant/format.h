// A weight format: how to know it, and how to hand over one row of it in the words of the panels
// (kernels/cpu/pack.h). One file each in formats/, with the bit layout drawn on top, and one line
// in format.cpp. Nobody else switches on format.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu/pack.h"
#include "quant/weight_source.h"

namespace mlxforge {

struct Format {
  std::string_view name;
  bool (*recognise)(const WeightSource& source);
  // Throws Error when the tensors do not fit together for a matrix (n_out, n_in).
  cpu::Layout (*layout)(const WeightSource& source, int n_out, int n_in);
  void (*read_row)(const WeightSource& source, int n_in, int row, const cpu::RowBuffers& out);
};

std::span<const Format> formats();
// Throws Error naming the tensor and its type when no format knows it.
const Format& find_format(const WeightSource& source);

// Throws Error unless `tensor` has this shape.
void expect_shape(const TensorView& tensor, std::vector<int64_t> shape);

}  // namespace mlxforge
