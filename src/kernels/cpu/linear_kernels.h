// What linear.cpp hands to the kernels of one ISA, in three stages: prepare rows of x once,
// multiply panels, finish outputs. All three are noexcept and touch only the rows and panels named.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/linear.h"

namespace mlxforge::cpu {

// 32 activations as integers: x[k] ~ scale * q[k]. In memory each four stand as (0, 2, 1, 3), the
// pairs that panels.h yields.
struct ActBlock16 {
  int16_t q[kSub];
  float scale;
  float sum;        // scale * sum(q)
  int32_t neg_sum;  // -sum(q)
};
// The same with int8, in order, each plus the ISA's kDot8Offset.
struct ActBlock8 {
  uint8_t q[kSub];
  float scale;
  float sum;
};
inline constexpr int kFloatBlock = 64;  // k per block of float activations; zeros past n_in
struct ActBlockF {
  float x[kFloatBlock];
  float apart[4];  // so that one k of neighbouring rows lies in different banks of the cache
};

struct Rows {
  int begin;
  int end;
};
inline constexpr int kMaxRows = 96;  // of one multiply: its sums stay in the first-level cache

// The prepared rows, only those kinds that some part needs. Rows come in slabs of kMaxRows, in a
// slab the blocks of one k stand side by side, so that a multiply reads a slab from front to back.
struct Activations {
  ActBlock16* i16 = nullptr;
  ActBlock8* i8 = nullptr;
  ActBlockF* f32 = nullptr;
  int n_rows = 0;

  // Where block 0 of row t lies among n_blocks blocks a row, and how far it is to the row's next
  // block.
  ptrdiff_t first(int t, int n_blocks) const {
    const int slab = t / kMaxRows * kMaxRows;
    return static_cast<ptrdiff_t>(slab) * n_blocks + (t - slab);
  }
  int stride(int t) const {
    const int left = n_rows - t / kMaxRows * kMaxRows;
    return left < kMaxRows ? left : kMaxRows;
  }
};

inline constexpr int kMaxPanels = 4;  // of one multiply
inline constexpr int kFewRows = 8;    // up to here a panel is read in its packed form

// out[i][t - rows.begin][16] = the sums of panel i, from one kind of activations. The rows lie in
// one slab.
struct Product {
  const Layout* layout;
  const std::byte* panels;
  size_t panel_bytes;
  int n_panels;
  int n_in;
  Activations act;
  Rows rows;
  float* out;
};

// The outputs [column, column + n) of y, n <= 16, from sums[t - rows.begin][16] and, gated, up[...]
// of the same shape.
struct Finish {
  const LinearArgs* args;
  int n_out;  // N, the stride of y
  const float* sums;
  const float* up;
  const float* bias;  // of these columns or null
  const float* up_bias;
  Rows rows;
  int column;
  int n;
};

struct LinearKernels {
  int int8_bits;  // Arith::int8 pays up to this code width
  void (*prepare)(const LinearArgs& args, int n_in, const Activations& act, Rows rows) noexcept;
  void (*multiply_i16)(const Product& p) noexcept;
  void (*multiply_i8)(const Product& p) noexcept;
  void (*multiply_f32)(const Product& p) noexcept;
  void (*finish)(const Finish& f) noexcept;
};

}  // namespace mlxforge::cpu
