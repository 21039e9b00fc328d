// The polynomials against the double-precision functions, on the generic vectors, which round fma
// twice: every ISA is at least as near.
#define MLXFORGE_CPU_ISA generic
#include "kernels/cpu/simd_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/threads.h"

namespace mlxforge::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <class F>
float one(F f, float x) {
  float lanes[generic::kLanes];
  generic::store(lanes, f(generic::splat(x)));
  for (const float lane : lanes) EXPECT_EQ(std::memcmp(&lane, lanes, 4), 0);
  return lanes[0];
}
float exp_of(float x) { return one(generic::exp, x); }
float tanh_of(float x) { return one(generic::tanh, x); }

// How many units in the last place of `want` lie between the two.
double ulps(float got, double want) {
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// Every 997th float from `from` up to `to`, both of one sign.
template <class F>
void for_floats(float from, float to, F f) {
  uint32_t bits;
  std::memcpy(&bits, &from, 4);
  for (float x = from; std::fabs(x) <= std::fabs(to); bits += 997, std::memcpy(&x, &bits, 4)) f(x);
}

TEST(SimdMath, ExpIsWithinTwoUlps) {
  flush_denormals();  // as on every thread that computes
  double worst = 0;
  for_floats(1e-9f, 88.7f,
             [&](float x) { worst = std::max(worst, ulps(exp_of(x), std::exp(double{x}))); });
  for_floats(-1e-9f, -86.4f,
             [&](float x) { worst = std::max(worst, ulps(exp_of(x), std::exp(double{x}))); });
  EXPECT_LE(worst, 2);
}

TEST(SimdMath, ExpAtTheEnds) {
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_EQ(exp_of(-0.0f), 1);
  for (const float x : {-86.6f, -100.0f, -1e30f, -kInf}) EXPECT_EQ(exp_of(x), 0) << x;
  for (const float x : {88.8f, 1e30f, kInf}) EXPECT_EQ(exp_of(x), kInf) << x;
  EXPECT_TRUE(std::isnan(exp_of(std::nanf(""))));
}

TEST(SimdMath, TanhIsWithinFourUlps) {
  double worst = 0;
  for_floats(1e-9f, 30.0f, [&](float x) {
    worst = std::max(worst, ulps(tanh_of(x), std::tanh(double{x})));
    ASSERT_EQ(tanh_of(-x), -tanh_of(x));
  });
  EXPECT_LE(worst, 4);
  EXPECT_EQ(tanh_of(0), 0);
  EXPECT_EQ(tanh_of(kInf), 1);
  EXPECT_TRUE(std::isnan(tanh_of(std::nanf(""))));
}

}  // namespace
}  // namespace mlxforge::cpu
