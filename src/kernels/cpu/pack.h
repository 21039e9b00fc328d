// From rows to panels, and back. A row source hands over one row in the words of its format; pack()
// puts the bits in place, so nothing is rounded: scales and biases keep their bits, float weights
// theirs.
#pragma once

#include <cstdint>
#include <functional>

#include "base/threads.h"
#include "kernels/cpu/panels.h"

namespace mlxforge::cpu {

// Where a source writes a row of n_in weights. Float layouts: `values` (n_in floats of the layout's
// type, as bits). Integer layouts: `codes` (n_in bytes, one unsigned code each), `scales` (n_in /
// group of the layout's scale type, as bits) and, with Zero::bias, `biases` (the same number and
// type). Zero::centre stores code = signed value + 2^(bits - 1).
struct RowBuffers {
  void* values;
  uint8_t* codes;
  void* scales;
  void* biases;
};

// Called once for each row in [0, n_out), from all pool threads at once; must not throw. A permuted
// matrix is a source that reads another row.
using RowSource = std::function<void(int row, const RowBuffers& out)>;

PackedMatrix pack(Layout layout, int n_out, int n_in, const RowSource& source, ThreadPool& pool);

// The weights of one row as f32, (n_in): scale * (code - 2^(bits - 1)), or scale * code + bias,
// each operation rounded to f32 (exact where scales are f16 or bf16, but for the last addition).
void unpack_row(const PackedMatrix& w, int row, float* out);

// out (n_ids, n_in): the rows `ids` of w. Every id lies in [0, n_out).
void embed_rows(const PackedMatrix& w, const int32_t* ids, int n_ids, float* out, ThreadPool& pool);

}  // namespace mlxforge::cpu
