// A tensor as a file stores it: a name, an element type, a shape, and a view of its bytes. Both
// file formats give these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlxforge {

// The q types are GGUF's blocks of 32 consecutive elements of the innermost axis, little-endian:
//   q4_0  f16 d           | 16 bytes of nibbles                   18 bytes
//   q4_1  f16 d | f16 m   | 16 bytes of nibbles                   20 bytes
//   q8_0  f16 d           | 32 signed bytes                       34 bytes
enum class DType : uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  q4_0,
  q4_1,
  q8_0
};

std::string_view dtype_name(DType dtype);  // as the files spell it: "BF16", "Q4_1", ...
int block_bytes(DType dtype);              // bytes of one block; the element size for plain types

// The bytes of a tensor of this shape; nullopt when they do not fit in 63 bits, an axis is
// negative, or the innermost axis is not whole blocks.
std::optional<uint64_t> tensor_bytes(DType dtype, std::span<const int64_t> shape);

// Does not own its bytes: they live as long as the mapping behind them.
struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  // Outermost axis first, as numpy has it (GGUF stores the reverse); empty for a scalar.
  std::vector<int64_t> shape;
  // Row-major, little-endian, exactly tensor_bytes() of them; not necessarily aligned.
  std::span<const std::byte> bytes;

  int64_t n_elements() const;
};

std::string shape_text(std::span<const int64_t> shape);  // "(576, 49152)"

}  // namespace mlxforge
