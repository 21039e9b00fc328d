#include <gtest/gtest.h>

#include "base/check.h"
#include "kernels/eval.h"
#include "kernels/kv_pool.h"
#include "kernels/leaf_array.h"
#include "kernels/recycler.h"

namespace mlxforge {
namespace {

TEST(KvPool, HasTheShapeAsked) {
  const KvPool pool = make_kv_pool(3, 64, 16, 24, mx::bfloat16);
  EXPECT_EQ(pool.k.shape(), (mx::Shape{3, 64, 16}));
  EXPECT_EQ(pool.v.shape(), (mx::Shape{3, 64, 24}));
  EXPECT_EQ(pool.v.dtype(), mx::bfloat16);
}

// MLX answers a failed allocation with a null pointer, which stock code would write through.
TEST(LeafArray, MemoryThatIsNotThereIsAnErrorThatSaysWhatFor) {
  try {
    leaf_array({1 << 30, 1 << 20}, mx::float32, "a test");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("a test"), std::string::npos) << e.what();
  }
}

TEST(Recycler, GivesABufferAgainOnceItsArrayIsGone) {
  Recycler recycler;
  const auto array_from = [&](int n) {
    return array_over({n}, mx::float32, recycler.take(n * sizeof(float)));
  };
  const void* first;
  {
    const auto a = array_from(5000);
    first = a.data<float>();
    EXPECT_NE(array_from(5000).data<float>(), first);
  }
  // A size class of powers of two from 4 KiB serves them.
  const auto b = array_from(4097), c = array_from(8192);
  EXPECT_TRUE(b.data<float>() == first || c.data<float>() == first);
  EXPECT_NE(array_from(100).data<float>(), first);
}

TEST(Recycler, ArraysMayOutliveIt) {
  auto recycler = std::make_unique<Recycler>();
  mx::array array = array_over({8}, mx::float32, recycler->take(8 * sizeof(float)));
  recycler.reset();
  array.data<float>()[7] = 1;
  EXPECT_EQ(array.data<float>()[7], 1);
}

TEST(Evaluate, CountsItsCalls) {
  const size_t before = n_evaluations();
  const auto a = mx::ones({4}) + mx::ones({4});
  evaluate({a});
  EXPECT_EQ(n_evaluations(), before + 1);
  EXPECT_EQ(a.data<float>()[3], 2);
}

}  // namespace
}  // namespace mlxforge
