// GGUF Q8_0: w = d * q, q a signed byte; handed on as the unsigned code q + 128.
//
//   | f16 d | 32 signed bytes |
//   34 bytes per 32 weights
#include "quant/formats/q8_0.h"

#include "quant/formats/gguf_block.h"

namespace mlxforge {
namespace {

bool recognise(const WeightSource& s) { return s.weight->dtype == DType::q8_0; }

cpu::Layout layout(const WeightSource& s, int n_out, int n_in) {
  expect_shape(*s.weight, {n_out, n_in});
  return cpu::kQ8_0;
}

void read_row(const WeightSource& s, int n_in, int row, const cpu::RowBuffers& out) {
  for_each_block(s, n_in, row, [&](const std::byte* block, size_t b) {
    copy_f16(block, out.scales, b);
    for (int j = 0; j < kGgufBlock; ++j) {
      out.codes[b * kGgufBlock + j] = std::to_integer<uint8_t>(block[2 + j] ^ std::byte{0x80});
    }
  });
}

}  // namespace

extern constexpr Format kQ8_0 = {"Q8_0", recognise, layout, read_row};

}  // namespace mlxforge
