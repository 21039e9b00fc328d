#include "kernels/cpu/pack.h"

#include <gtest/gtest.h>

#include "kernels/cpu/linear_testing.h"

namespace mlxforge::cpu {
namespace {

using testing::TestMatrix;

TEST(Pack, UnpackedRowsAreTheFormatsWeights) {
  ThreadPool pool(2);
  for (const Layout& layout : testing::all_layouts()) {
    const TestMatrix m(layout, 37, layout.is_float() ? 45 : 256, 1);
    const PackedMatrix w = m.pack(pool);
    std::vector<float> row(static_cast<size_t>(m.n_in));
    for (int r = 0; r < m.n_out; ++r) {
      unpack_row(w, r, row.data());
      for (int k = 0; k < m.n_in; ++k) {
        const auto at = static_cast<size_t>(r * m.n_in + k);
        // The product is exact unless scales are f32; the sum is rounded once.
        const double bound = layout.is_float() ? 0 : m.magnitudes[at] * std::ldexp(1, -23);
        ASSERT_NEAR(row[static_cast<size_t>(k)], m.weights[at], bound)
            << testing::layout_name(layout) << " " << r << "," << k;
      }
    }
  }
}

TEST(Pack, KeepsTheFormatsSize) {
  EXPECT_EQ(PackedMatrix(kQ4_0, 64, 4096).bytes(), size_t{64} * 4096 / 32 * 18);
  EXPECT_EQ(PackedMatrix(kQ4_1, 64, 4096).bytes(), size_t{64} * 4096 / 32 * 20);
  EXPECT_EQ(PackedMatrix(kQ8_0, 64, 4096).bytes(), size_t{64} * 4096 / 32 * 34);
  EXPECT_EQ(PackedMatrix(kBF16, 64, 4096).bytes(), size_t{64} * 4096 * 2);
  EXPECT_EQ(PackedMatrix({Codes::u3, 64, ScaleType::f16, Zero::bias}, 64, 4096).bytes(),
            size_t{64} * 4096 / 64 * (64 * 3 / 8 + 4));
}

TEST(Pack, EveryF16ScaleReadsAsItsValue) {
  ThreadPool pool(1);
  std::vector<float> row(32);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const PackedMatrix w = pack(
        kF16, 1, 1, [bits](int, const RowBuffers& out) { std::memcpy(out.values, &bits, 2); },
        pool);
    unpack_row(w, 0, row.data());
    ASSERT_EQ(row[0], testing::float_value(ScaleType::f16, bits)) << bits;
  }
}

TEST(Pack, PermutedRowsAndEmbedding) {
  ThreadPool pool(2);
  const TestMatrix m(kQ4_1, 40, 64, 2);
  const auto permuted = [](int row) { return (row * 7 + 3) % 40; };
  const PackedMatrix straight = m.pack(pool);
  const PackedMatrix shuffled = pack(
      kQ4_1, 40, 64, [&](int row, const RowBuffers& out) { m.fill(permuted(row), out); }, pool);
  const int32_t ids[] = {39, 0, 17, 17};
  std::vector<float> out(4 * 64), expected(64);
  embed_rows(shuffled, ids, 4, out.data(), pool);
  for (size_t i = 0; i < 4; ++i) {
    unpack_row(straight, permuted(ids[i]), expected.data());
    EXPECT_EQ(std::vector<float>(out.begin() + 64 * static_cast<int>(i),
                                 out.begin() + 64 * static_cast<int>(i + 1)),
              expected);
  }
}

}  // namespace
}  // namespace mlxforge::cpu
