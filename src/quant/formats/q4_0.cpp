// GGUF Q4_0: w = d * (code - 8), code 0..15.
//
//   | f16 d | 16 bytes: weight j in the low nibble of byte j, weight 16 + j in the high |
//   18 bytes per 32 weights
#include "quant/formats/q4_0.h"

#include "quant/formats/gguf_block.h"

namespace mlxforge {
namespace {

bool recognise(const WeightSource& s) { return s.weight->dtype == DType::q4_0; }

cpu::Layout layout(const WeightSource& s, int n_out, int n_in) {
  expect_shape(*s.weight, {n_out, n_in});
  return cpu::kQ4_0;
}

void read_row(const WeightSource& s, int n_in, int row, const cpu::RowBuffers& out) {
  for_each_block(s, n_in, row, [&](const std::byte* block, size_t b) {
    copy_f16(block, out.scales, b);
    read_nibbles(block + 2, out.codes + b * kGgufBlock);
  });
}

}  // namespace

extern constexpr Format kQ4_0 = {"Q4_0", recognise, layout, read_row};

}  // namespace mlxforge
