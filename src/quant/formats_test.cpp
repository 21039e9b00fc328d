#include <gtest/gtest.h>

#include "base/check.h"
#include "kernels/cpu/pack.h"
#include "quant/format.h"

namespace mlxforge {
namespace {

// The weights of the one row of a tensor, through its format and the CPU panels.
std::vector<float> dequantised(DType dtype, std::span<const uint8_t> bytes) {
  TensorView view{.name = "w", .dtype = dtype, .shape = {1, 32}, .bytes = std::as_bytes(bytes)};
  const WeightSource source{.name = "w", .weight = &view};
  const Format& format = find_format(source);
  ThreadPool pool(1);
  const auto packed = cpu::pack(
      format.layout(source, 1, 32), 1, 32,
      [&](int row, const cpu::RowBuffers& out) { format.read_row(source, 32, row, out); }, pool);
  std::vector<float> row(32);
  cpu::unpack_row(packed, 0, row.data());
  return row;
}

// Case 45: d = 0.5, m = -1.
TEST(Formats, Q4_1Block) {
  const uint8_t block[] = {0x00, 0x38, 0x00, 0xbc, 0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5,
                           0x96, 0x87, 0x78, 0x69, 0x5a, 0x4b, 0x3c, 0x2d, 0x1e, 0x0f};
  const auto row = dequantised(DType::q4_1, block);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(row[i], -1 + 0.5f * i);
    EXPECT_EQ(row[16 + i], 6.5f - 0.5f * i);
  }
}

// w = d (code - 8); d = 2, codes 0..15 in the low nibbles, 15..0 in the high.
TEST(Formats, Q4_0Block) {
  std::vector<uint8_t> block = {0x00, 0x40};
  for (int i = 0; i < 16; ++i) block.push_back(uint8_t(i | (15 - i) << 4));
  const auto row = dequantised(DType::q4_0, block);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(row[i], 2.f * (i - 8));
    EXPECT_EQ(row[16 + i], 2.f * (7 - i));
  }
}

TEST(Formats, Q8_0Block) {
  std::vector<uint8_t> block = {0x00, 0x34};  // d = 0.25
  for (int i = 0; i < 32; ++i) block.push_back(uint8_t(int8_t(8 * i - 128)));
  const auto row = dequantised(DType::q8_0, block);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(row[i], 0.25f * (8 * i - 128));
}

TEST(Formats, RefusesWhatNoFormatKnowsAndShapesThatDoNotFit) {
  const std::vector<std::byte> bytes(64);
  TensorView ints{.name = "model.x", .dtype = DType::i32, .shape = {1, 16}, .bytes = bytes};
  try {
    find_format({.name = "x", .weight = &ints});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("model.x"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("I32"), std::string::npos);
  }
  TensorView floats{.name = "y", .dtype = DType::f32, .shape = {1, 16}, .bytes = bytes};
  const WeightSource source{.name = "y", .weight = &floats};
  EXPECT_THROW(find_format(source).layout(source, 2, 8), Error);
}

}  // namespace
}  // namespace mlxforge
