// The ops around a matrix product, at every place they run and for every layout of weights, against
// double precision.
#include <gtest/gtest.h>

#include "base/check.h"
#include "kernels/embed.h"
#include "kernels/head.h"
#include "kernels/linear_residual.h"
#include "kernels/norm_gated_linear.h"
#include "kernels/norm_linear.h"
#include "kernels/testing.h"

namespace mlxforge {
namespace {

using namespace testing;
using Row = std::vector<Bounded>;
constexpr int K = 128, T = 3;

// What checkpoints combine: float weights, MLX's affine codes with scales in the activation dtype,
// and GGUF's formats, whose activations are f32.
std::vector<cpu::Layout> layouts_of(mx::Dtype act) {
  using enum cpu::Codes;
  std::vector<cpu::Layout> all = {act == mx::float16 ? cpu::kF16 : cpu::kBF16};
  if (act == mx::float32)
    all = {cpu::kF32, cpu::kF16, cpu::kBF16, cpu::kQ4_0, cpu::kQ4_1, cpu::kQ8_0};
  const auto scale = act == mx::float32   ? cpu::ScaleType::f32
                     : act == mx::float16 ? cpu::ScaleType::f16
                                          : cpu::ScaleType::bf16;
  for (const auto codes : {u2, u3, u4, u5, u6, u8}) {
    for (const int group : {32, 64, 128}) all.push_back({codes, group, scale, cpu::Zero::bias});
  }
  return all;
}

// Random weights, bias, norm and inputs of one op.
struct Operands {
  Exec exec;
  std::vector<TestMatrix> parts;
  std::vector<float> bias, norm_weight = random_values(K, 2, 0x1p-5f),
                           norm_bias = random_values(K, 3);
  std::vector<float> x = random_values(T * K, 4);
  Linear linear;

  Operands(const Exec& e, const cpu::Layout& layout, const std::vector<int>& sizes) : exec(e) {
    for (const int n : sizes) {
      parts.emplace_back(layout, n, K, 10 + parts.size());
      linear.parts.push_back(weight_of(parts.back(), exec));
    }
    bias = random_values(linear.n_out(), 1);
    linear.bias = array_of(bias, {linear.n_out()}, exec.between());
  }
  mx::array input() const { return array_of(x, {T, K}, exec.between()); }
  Norm norm(NormKind kind) const {
    Norm norm{.kind = kind, .weight = {}, .bias = {}, .eps = 1e-3f};
    if (kind != NormKind::none) norm.weight = array_of(norm_weight, {K}, exec.between());
    if (kind == NormKind::layer) norm.bias = array_of(norm_bias, {K}, exec.between());
    return norm;
  }
};

class LinearOps : public ::testing::TestWithParam<Place> {
 protected:
  const Place place = GetParam();
  const Exec exec = make_exec(place);
  const mx::Dtype grid = place.grid();

  // Norm of row t: sums of n terms in f32, each operation's result on the grid.
  Row normed(const Operands& o, NormKind kind, int t) const {
    const float* x = o.x.data() + t * K;
    double mean = 0, size = 0, squares = 0;
    for (int k = 0; k < K; ++k) mean += x[k] / K, size += std::abs(x[k]) / K;
    if (kind != NormKind::layer) mean = size = 0;
    for (int k = 0; k < K; ++k) squares += (x[k] - mean) * (x[k] - mean) / K;
    Row row;
    for (int k = 0; k < K; ++k) {
      Bounded v{x[k], 0};
      if (kind != NormKind::none) {
        const double inverse = 1 / std::sqrt(squares + 1e-3f);
        v = {(x[k] - mean) * inverse, (K + 8) * kF32 * (std::abs(x[k]) + size) * inverse};
        v = (v.rounded(grid) * o.norm_weight[k]).rounded(grid);
      }
      if (kind == NormKind::layer) v = (v + Bounded{o.norm_bias[k]}).rounded(grid);
      row.push_back(v);
    }
    return row;
  }

  // One output of a product, before it is rounded: terms are summed in f32, or by stock MLX in the
  // activations' dtype when the weights are codes; the default arithmetic of integer codes first
  // puts each 32 inputs on a grid of 2^15 steps.
  Bounded dot(const TestMatrix& m, int n, const Row& x) const {
    const bool coded = !m.layout.is_float();
    const bool integers = coded && place.on_cpu() && place.arith == Arith::accurate;
    const double each = coded && !place.on_cpu() ? std::max(kF32, 2 * unit(place.act)) : kF32;
    Bounded sum;
    double most = 0;
    for (int k = 0; k < K; ++k) {
      if (k % 32 == 0) most = 0;
      for (int j = k; k % 32 == 0 && j < k + 32; ++j) most = std::max(most, std::abs(x[j].value));
      const double step = integers ? most / 32767 : 0;
      const double w = m.weights[n * K + k], size = m.magnitudes[n * K + k];
      sum.value += w * x[k].value;
      sum.error += std::abs(w) * (x[k].error + step) +
                   (K + 4) * each * size * (std::abs(x[k].value) + x[k].error + step);
    }
    return sum;
  }

  Row product(const Operands& o, const Row& x) const {
    Row y;
    for (const auto& part : o.parts) {
      for (int n = 0; n < part.n_out; ++n) {
        const auto v = dot(part, n, x).rounded(grid);
        y.push_back((v + Bounded{o.bias[y.size()]}).rounded(grid));
      }
    }
    return y;
  }

  void check(const mx::array& got, const std::vector<Row>& want) const {
    Row flat;
    for (const auto& row : want) flat.insert(flat.end(), row.begin(), row.end());
    ASSERT_EQ(got.dtype(), exec.between());
    expect_within(floats_of(got), flat);
    EXPECT_TRUE(on_grid(floats_of(got), grid));
  }
};

INSTANTIATE_TEST_SUITE_P(Places, LinearOps, ::testing::ValuesIn(all_places()), place_name);

TEST_P(LinearOps, NormLinear) {
  for (const auto& layout : layouts_of(place.act)) {
    SCOPED_TRACE(cpu::testing::layout_name(layout));
    const Operands o(exec, layout, {17, 8, 5});
    for (const auto kind : {NormKind::none, NormKind::rms, NormKind::layer}) {
      std::vector<Row> want;
      for (int t = 0; t < T; ++t) want.push_back(product(o, normed(o, kind, t)));
      check(norm_linear(exec, o.input(), o.norm(kind), o.linear), want);
    }
  }
}

double activated(Activation act, double x) {
  switch (act) {
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2)));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

TEST_P(LinearOps, NormGatedLinear) {
  for (const auto& layout : layouts_of(place.act)) {
    SCOPED_TRACE(cpu::testing::layout_name(layout));
    const Operands o(exec, layout, {19, 19});
    for (const auto act : {Activation::silu, Activation::gelu, Activation::gelu_tanh}) {
      std::vector<Row> want(T);
      for (int t = 0; t < T; ++t) {
        const Row y = product(o, normed(o, NormKind::rms, t));
        for (int n = 0; n < 19; ++n) {
          // The slope of each is below 1.13; its own few operations round terms of x's size.
          const double own = 10 * std::max(kF32, unit(grid)) * std::abs(y[n].value);
          const Bounded gate{activated(act, y[n].value), 1.13 * y[n].error + own};
          want[t].push_back((gate.rounded(grid) * y[19 + n]).rounded(grid));
        }
      }
      check(norm_gated_linear(exec, o.input(), o.norm(NormKind::rms), o.linear, act), want);
    }
  }
}

TEST_P(LinearOps, LinearResidual) {
  for (const auto& layout : layouts_of(place.act)) {
    SCOPED_TRACE(cpu::testing::layout_name(layout));
    const Operands o(exec, layout, {21});
    const auto residual = random_values(T * 21, 7);
    std::vector<Row> want;
    for (int t = 0; t < T; ++t) {
      want.push_back(product(o, normed(o, NormKind::none, t)));
      for (int n = 0; n < 21; ++n) {
        want[t][n] = (want[t][n] + Bounded{residual[t * 21 + n]}).rounded(grid);
      }
    }
    check(linear_residual(exec, o.input(), o.linear, array_of(residual, {T, 21}, exec.between())),
          want);
  }
}

TEST_P(LinearOps, HeadTakesRowsAndCaps) {
  for (const auto& layout : layouts_of(place.act)) {
    SCOPED_TRACE(cpu::testing::layout_name(layout));
    const Operands o(exec, layout, {33});
    for (const float cap : {0.f, 30.f}) {
      for (const auto& rows : {std::vector<int32_t>{2}, {0, 2}, {0, 1, 2}}) {
        Row want;
        for (const int t : rows) {
          for (const Bounded& v : product(o, normed(o, NormKind::rms, t))) {
            const Bounded capped{cap * std::tanh(v.value / cap), v.error + 8 * kF32 * cap};
            want.push_back(cap == 0 ? v : capped.rounded(grid));
          }
        }
        const auto y =
            head(exec, o.input(), rows, o.norm(NormKind::rms), o.linear, {.softcap = cap});
        ASSERT_EQ(y.dtype(), mx::float32);
        ASSERT_EQ(y.shape(), (mx::Shape{static_cast<int>(rows.size()), 33}));
        expect_within(floats_of(y), want);
      }
    }
    const auto none = head(exec, o.input(), {}, o.norm(NormKind::rms), o.linear, {});
    EXPECT_EQ(none.shape(), (mx::Shape{0, 33}));
  }
}

TEST_P(LinearOps, Embed) {
  const std::vector<int32_t> tokens = {4, 0, 22, 4};
  for (const auto& layout : layouts_of(place.act)) {
    SCOPED_TRACE(cpu::testing::layout_name(layout));
    const TestMatrix m(layout, 23, K, 5);
    const auto table = weight_of(m, exec);
    for (const float scale : {1.f, 11.f}) {
      std::vector<Row> want;
      for (const int id : tokens) {
        want.emplace_back();
        for (int k = 0; k < K; ++k) {
          const double size = m.magnitudes[id * K + k];
          const Bounded w{m.weights[id * K + k], 2 * std::max(unit(grid), kF32) * size};
          want.back().push_back((w.rounded(grid) * Bounded{scale}).rounded(grid));
        }
      }
      const mx::array ids(tokens.begin(), {4}, mx::int32);
      check(embed(exec, ids, table, scale), want);
    }
  }
}

// A row of an op does not depend on its company, and neither does its neighbours' on a NaN in it.
TEST_P(LinearOps, RowsKeepToThemselves) {
  const Operands o(exec, layouts_of(place.act).back(), {16, 8});
  const auto run = [&](const std::vector<float>& x, int rows) {
    return floats_of(
        norm_linear(exec, array_of(x, {rows, K}, exec.between()), o.norm(NormKind::rms), o.linear));
  };
  const auto together = run(o.x, T);
  auto x = o.x;
  x[K + 5] = NAN;
  const auto poisoned = run(x, T);
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(poisoned[i], together[i]);
    EXPECT_TRUE(std::isnan(poisoned[24 + i]));
    EXPECT_EQ(poisoned[48 + i], together[48 + i]);
  }
  EXPECT_EQ(run({o.x.begin() + K, o.x.begin() + 2 * K}, 1),
            (std::vector<float>{together.begin() + 24, together.begin() + 48}));
}

TEST(NormGatedLinear, WantsTwoEqualParts) {
  const Exec exec = make_exec({KernelPath::cpu, Arith::exact, mx::float32});
  const Operands o(exec, cpu::kF32, {8, 9});
  EXPECT_THROW(
      norm_gated_linear(exec, o.input(), o.norm(NormKind::rms), o.linear, Activation::silu),
      CheckFailure);
}

}  // namespace
}  // namespace mlxforge
