#include "files/tensor.h"

#include <gtest/gtest.h>

namespace mlxforge {
namespace {

using Shape = std::vector<int64_t>;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Tensor, BytesOfAShape) {
  EXPECT_EQ(tensor_bytes(DType::f32, Shape{}), 4);
  EXPECT_EQ(tensor_bytes(DType::f16, Shape{3, 5}), 30);
  EXPECT_EQ(tensor_bytes(DType::u8, Shape{0, 7}), 0);
  EXPECT_EQ(tensor_bytes(DType::q4_0, Shape{2, 64}), 2 * 2 * 18);
  EXPECT_EQ(tensor_bytes(DType::q4_1, Shape{2, 64}), 2 * 2 * 20);
  EXPECT_EQ(tensor_bytes(DType::q8_0, Shape{32}), 34);
  EXPECT_EQ(tensor_bytes(DType::u8, Shape{kMax}), kMax);
}

TEST(Tensor, ImpossibleShapesHaveNoBytes) {
  EXPECT_EQ(tensor_bytes(DType::f32, Shape{-1}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::f32, Shape{-2, -2}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::u16, Shape{kMax}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::u8, Shape{kMax, 2}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::f32, Shape{int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::q4_0, Shape{33}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::q4_0, Shape{32, 1}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::q8_0, Shape{}), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::q8_0, Shape{-32}), std::nullopt);
}

TEST(Tensor, ElementsFollowFromTheBytes) {
  const std::vector<std::byte> bytes(2 * 2 * 20);
  const TensorView blocks{"w", DType::q4_1, {2, 64}, bytes};
  EXPECT_EQ(blocks.n_elements(), 128);
  const TensorView plain{"w", DType::u16, {40}, bytes};
  EXPECT_EQ(plain.n_elements(), 40);
}

TEST(Tensor, ShapeText) {
  EXPECT_EQ(shape_text(Shape{}), "()");
  EXPECT_EQ(shape_text(Shape{576, 49152}), "(576, 49152)");
}

}  // namespace
}  // namespace mlxforge
