// Weights as the CPU kernels read them. A matrix (n_out, n_in) is cut into panels of 16 output
// rows, so that a SIMD lane is an output row on every ISA; the last panel is padded with zero rows.
// One layout serves all ISAs and all batch sizes.
//
// Float codes (f32, f16, bf16), one panel, k-major:
//     k = 0: row 0 .. row 15 | k = 1: row 0 .. row 15 | ...                                16 *
//     n_in * sizeof(code) bytes
//
// Integer codes, one panel: n_in / group blocks one after another. A block:
//     16 scales | 16 biases (Zero::bias only) | group / 32 sub-blocks of 32 k
// A sub-block holds the codes' bits in one or two planes (u2: 2; u3: 2 + 1; u4: 4; u5: 4 + 1; u6: 4
// + 2; u8: 8; the first plane has the low bits). A plane of b bits is b rows of 16 dwords, dword r
// of which belongs to output row r:
//
//     dword d of output row r    byte 0        byte 1        byte 2        byte 3
//     bits i*b .. i*b + b - 1    code k = 4q   code 4q + 1   code 4q + 2   code 4q + 3        q = d
//     * (8 / b) + i
//
// so (dword >> i*b) & 0x0f0f0f0f (b = 4) is four consecutive codes as bytes, and (dword >> (i*b +
// 8*e)) & 0x000f000f the pair (4q + e, 4q + 2 + e) as 16-bit integers. Q4_0 stays 18 bytes per 32
// weights, Q4_1 20, Q8_0 34.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/weight_memory.h"

namespace mlxforge::cpu {

enum class Codes : uint8_t { f32, f16, bf16, u2, u3, u4, u5, u6, u8 };
enum class ScaleType : uint8_t { f32, f16, bf16 };
// The weight of an integer code: scale * (code - 2^(bits - 1)), or scale * code + bias.
enum class Zero : uint8_t { centre, bias };

struct Layout {
  Codes codes = Codes::f32;
  int group = 0;  // k per scale: 32, 64 or 128; 0 for floats
  ScaleType scale = ScaleType::f32;
  Zero zero = Zero::centre;
  bool operator==(const Layout&) const = default;

  constexpr bool is_float() const { return codes <= Codes::bf16; }
  constexpr int bits() const {
    constexpr int kBits[] = {32, 16, 16, 2, 3, 4, 5, 6, 8};
    return kBits[static_cast<int>(codes)];
  }
  constexpr int scale_bytes() const { return scale == ScaleType::f32 ? 4 : 2; }
};

inline constexpr int kPanelRows = 16;
inline constexpr int kSub = 32;  // k per sub-block, and per quantised activation group

inline constexpr Layout kF32{Codes::f32}, kF16{Codes::f16}, kBF16{Codes::bf16};
inline constexpr Layout kQ4_0{Codes::u4, 32, ScaleType::f16, Zero::centre};
inline constexpr Layout kQ4_1{Codes::u4, 32, ScaleType::f16, Zero::bias};
inline constexpr Layout kQ8_0{Codes::u8, 32, ScaleType::f16, Zero::centre};

constexpr size_t sub_bytes(int bits) { return size_t{4} * kPanelRows * static_cast<size_t>(bits); }
constexpr size_t head_bytes(const Layout& w) {
  return static_cast<size_t>(kPanelRows * w.scale_bytes() * (w.zero == Zero::bias ? 2 : 1));
}
constexpr size_t block_bytes(const Layout& w) {
  return head_bytes(w) + static_cast<size_t>(w.group / kSub) * sub_bytes(w.bits());
}

// The bit planes of a code: widths, low bits first.
struct Planes {
  int width[2];
};
constexpr Planes planes(int bits) {
  return bits == 3   ? Planes{{2, 1}}
         : bits == 5 ? Planes{{4, 1}}
         : bits == 6 ? Planes{{4, 2}}
                     : Planes{{bits, 0}};
}

// Can be moved. Filled by pack() (pack.h), then only read, from any thread.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(PackedMatrix&&) = default;
  PackedMatrix& operator=(PackedMatrix&&) = default;
  // Uninitialised panels. CHECKs that the layout is one of the above and that n_in is a multiple of
  // its group.
  PackedMatrix(Layout layout, int n_out, int n_in);

  const Layout& layout() const { return layout_; }
  int n_out() const { return n_out_; }
  int n_in() const { return n_in_; }
  int n_panels() const { return (n_out_ + kPanelRows - 1) / kPanelRows; }
  size_t panel_bytes() const { return panel_bytes_; }
  size_t bytes() const { return panel_bytes_ * static_cast<size_t>(n_panels()); }
  std::byte* panel(int i) { return data_.get() + panel_bytes_ * static_cast<size_t>(i); }
  const std::byte* panel(int i) const {
    return data_.get() + panel_bytes_ * static_cast<size_t>(i);
  }

 private:
  Layout layout_;
  int n_out_ = 0;
  int n_in_ = 0;
  size_t panel_bytes_ = 0;
  WeightMemory data_;
};

}  // namespace mlxforge::cpu
