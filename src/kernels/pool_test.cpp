#include <gtest/gtest.h>

#include "base/check.h"
#include "kernels/eval.h"
#include "kernels/kv_pool.h"
#include "kernels/recycler.h"

namespace mlxforge {
namespace {

TEST(KvPool, HasTheShapeAsked) {
  const KvPool pool = make_kv_pool(3, 64, 16, 24, mx::bfloat16);
  EXPECT_EQ(pool.k.shape(), (mx::Shape{3, 64, 16}));
  EXPECT_EQ(pool.v.shape(), (mx::Shape{3, 64, 24}));
  EXPECT_EQ(pool.v.dtype(), mx::bfloat16);
}

TEST(Recycler, GivesABufferAgainOnceItsArrayIsGone) {
  Recycler recycler;
  const auto array_from = [&](int n) {
    mx::array array({n}, mx::float32, nullptr, {});
    array.set_data(recycler.take(array.nbytes()));
    array.set_status(mx::array::Status::available);
    return array;
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
  mx::array array({8}, mx::float32, nullptr, {});
  array.set_data(recycler->take(array.nbytes()));
  array.set_status(mx::array::Status::available);
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
