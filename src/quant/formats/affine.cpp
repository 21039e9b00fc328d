// MLX affine quantisation (mx.quantize). Of a row, `group` consecutive weights share a scale and a
// bias: w = scale * code + bias.
//
//   weight  (n_out, n_in * bits / 32) uint32   codes one after another from the lowest bit of the
//                                              first word; one may cross words (3, 5 and 6 bits)
//   scales  (n_out, n_in / group)              f16, bf16 or f32
//   biases  (n_out, n_in / group)              as scales
#include "quant/formats/affine.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace mlxforge {
namespace {

bool recognise(const WeightSource& s) {
  return s.scales && s.biases && s.weight->dtype == DType::u32;
}

cpu::ScaleType scale_type(const TensorView& scales) {
  switch (scales.dtype) {
    case DType::f16:
      return cpu::ScaleType::f16;
    case DType::bf16:
      return cpu::ScaleType::bf16;
    case DType::f32:
      return cpu::ScaleType::f32;
    default:
      fail("quant", "expected ", scales.name, " to be F16, BF16 or F32, got ",
           dtype_name(scales.dtype));
  }
}

cpu::Codes codes(int bits) {
  using enum cpu::Codes;
  switch (bits) {
    case 2:
      return u2;
    case 3:
      return u3;
    case 4:
      return u4;
    case 5:
      return u5;
    case 6:
      return u6;
    case 8:
      return u8;
    default:
      throw CheckFailure(str("bug: affine bits ", bits));
  }
}

cpu::Layout layout(const WeightSource& s, int n_out, int n_in) {
  if (n_in % s.group != 0) {
    fail("quant", "expected ", s.name, " to have whole groups of ", s.group, " inputs, got ", n_in);
  }
  expect_shape(*s.weight, {n_out, int64_t(n_in) * s.bits / 32});
  expect_shape(*s.scales, {n_out, n_in / s.group});
  expect_shape(*s.biases, {n_out, n_in / s.group});
  if (s.biases->dtype != s.scales->dtype) {
    fail("quant", "expected scales and biases of ", s.name, " in one dtype, got ",
         dtype_name(s.scales->dtype), " and ", dtype_name(s.biases->dtype));
  }
  return {codes(s.bits), s.group, scale_type(*s.scales), cpu::Zero::bias};
}

void unpack(const std::byte* words, int bits, int n, uint8_t* out) {
  const uint32_t mask = (1u << bits) - 1;
  uint64_t window = 0;
  for (int i = 0, have = 0; i < n; ++i) {
    if (have < bits) {
      uint32_t word;
      std::memcpy(&word, words, sizeof word);
      words += sizeof word;
      window |= uint64_t{word} << have;
      have += 32;
    }
    out[i] = static_cast<uint8_t>(window & mask);
    window >>= bits;
    have -= bits;
  }
}

void copy_row(const TensorView& tensor, int row, void* out) {
  const size_t bytes = size_t(tensor.shape[1]) * block_bytes(tensor.dtype);
  std::memcpy(out, tensor.bytes.data() + row * bytes, bytes);
}

void read_row(const WeightSource& s, int n_in, int row, const cpu::RowBuffers& out) {
  const size_t row_bytes = size_t(n_in) * s.bits / 8;
  unpack(s.weight->bytes.data() + row * row_bytes, s.bits, n_in, out.codes);
  copy_row(*s.scales, row, out.scales);
  copy_row(*s.biases, row, out.biases);
}

}  // namespace

extern constexpr Format kAffine = {"MLX affine", recognise, layout, read_row};

}  // namespace mlxforge
