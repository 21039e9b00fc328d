#include "kernels/cpu/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "kernels/cpu/linear_testing.h"

namespace mlxforge::cpu {
namespace {

using testing::TestMatrix;

constexpr double kEps =
    1.0 /
    (1 << 23);  // covers a rounding of the product and one of the sum (generic has no fused ones)

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& v : out) v = normal(rng);
  return out;
}

// What norm(x) must be, and what rounding may do to it relatively.
std::vector<double> norm_oracle(const Norm& norm, const float* x, int n) {
  std::vector<double> out(x, x + n);
  if (norm.kind == Norm::none) return out;
  double mean = 0, squares = 0;
  if (norm.kind == Norm::layer)
    for (double v : out) mean += v / n;
  for (double v : out) squares += (v - mean) * (v - mean) / n;
  for (int k = 0; k < n; ++k) {
    auto& v = out[static_cast<size_t>(k)];
    v = (v - mean) / std::sqrt(squares + norm.eps);
    if (norm.weight != nullptr) v *= norm.weight[k];
    if (norm.bias != nullptr) v += norm.bias[k];
  }
  return out;
}

struct Expected {
  double value = 0;
  double bound = 0;
};

// x W^T for one output, with the error that the arithmetic may make: half a step of the activation
// grid per k (the step is the largest of 32 over its limit), and one rounding per accumulation of
// terms as large as the sum of magnitudes.
Expected dot_oracle(const TestMatrix& m, int row, const std::vector<double>& x, double limit,
                    double norm_error) {
  Expected out;
  double magnitude = 0;
  for (int begin = 0; begin < m.n_in; begin += kSub) {
    const int end = std::min(m.n_in, begin + kSub);
    double most = 0;
    for (int k = begin; k < end; ++k) most = std::max(most, std::abs(x[static_cast<size_t>(k)]));
    const double step = limit > 0 ? most / limit : 0;
    for (int k = begin; k < end; ++k) {
      const auto at =
          static_cast<size_t>(row) * static_cast<size_t>(m.n_in) + static_cast<size_t>(k);
      const double v = x[static_cast<size_t>(k)];
      out.value += m.weights[at] * v;
      out.bound += std::abs(m.weights[at]) * (0.5001 * step + norm_error * std::abs(v));
      magnitude += m.magnitudes[at] * (std::abs(v) + step);
    }
  }
  const int additions = limit > 0 ? 2 * m.n_in / kSub : m.n_in;
  out.bound += kEps * (additions + 4) * magnitude;
  return out;
}

double limit_of(const TestMatrix& m, Arith arith) {
  if (m.layout.is_float() || arith == Arith::exact) return 0;
  return arith == Arith::int8 ? 127 : 32767;
}

struct Case {
  Layout layout;
  int n_out, n_in;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Layout& w : testing::all_layouts())
    if (w.is_float())
      for (const auto& [n, k] : {std::pair{1, 1}, {5, 7}, {16, 64}, {37, 129}, {50, 200}})
        out.push_back({w, n, k});
    else
      for (const auto& [n, k] : {std::pair{3, 128}, {16, 256}, {37, 384}}) out.push_back({w, n, k});
  return out;
}

class LinearOnIsa : public ::testing::TestWithParam<Isa> {
 protected:
  ThreadPool pool{2};
  Workspace workspace;

  std::vector<float> run(const PackedMatrix& w, const std::vector<float>& x, int rows,
                         Arith arith) {
    std::vector<float> y(static_cast<size_t>(rows) * static_cast<size_t>(w.n_out()), -777.0f);
    const PackedMatrix* parts[] = {&w};
    linear({.x = x.data(),
            .n_rows = rows,
            .parts = parts,
            .y = y.data(),
            .arith = arith,
            .isa = GetParam()},
           workspace, pool);
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, LinearOnIsa,
                         ::testing::ValuesIn(runnable_isas().begin(), runnable_isas().end()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

TEST_P(LinearOnIsa, MatchesDoublePrecision) {
  uint32_t seed = 0;
  for (const Case& c : cases()) {
    const TestMatrix m(c.layout, c.n_out, c.n_in, ++seed);
    const PackedMatrix w = m.pack(pool);
    const auto x = random_floats(static_cast<size_t>(33 * c.n_in), seed);
    for (Arith arith : {Arith::accurate, Arith::int8, Arith::exact})
      for (int rows : c.layout.scale == ScaleType::f32 && !c.layout.is_float()
                          ? std::vector{1, 9}
                          : std::vector{1, 2, 3, 7, 8, 9, 33}) {
        const auto y = run(w, x, rows, arith);
        for (int t = 0; t < rows; ++t) {
          const std::vector<double> row(x.begin() + t * c.n_in, x.begin() + (t + 1) * c.n_in);
          for (int n = 0; n < c.n_out; ++n) {
            const Expected e = dot_oracle(m, n, row, limit_of(m, arith), 0);
            ASSERT_NEAR(y[static_cast<size_t>(t * c.n_out + n)], e.value, e.bound)
                << testing::layout_name(c.layout) << " " << c.n_out << "x" << c.n_in << " arith "
                << static_cast<int>(arith) << " rows " << rows << " at " << t << "," << n;
          }
        }
      }
  }
}

// Group and scale type only decide how a block's head is read: the tests of rows take one of each
// kind.
std::vector<Layout> some_layouts() {
  std::vector<Layout> out = testing::all_layouts();
  std::erase_if(out, [](const Layout& w) {
    return !w.is_float() &&
           (w.scale != ScaleType::f16 || w.group != (w.zero == Zero::bias ? 64 : 32));
  });
  return out;
}

// A row's bits do not depend on the other rows, the threads or the block of rows it falls into.
TEST_P(LinearOnIsa, RowsAreBitIdenticalInAnyCompany) {
  constexpr int kRows = 150;
  uint32_t seed = 100;
  for (const Layout& layout : some_layouts())
    for (Arith arith : {Arith::accurate, Arith::int8, Arith::exact}) {
      // The wide ones are cut into units of several panels.
      const bool wide = layout == kQ4_0 || layout == kQ4_1 || layout == kBF16;
      const TestMatrix m(layout, wide ? 1045 : 37,
                         wide                ? 64
                         : layout.is_float() ? 77
                                             : 256,
                         ++seed);
      const PackedMatrix w = m.pack(pool);
      const auto x = random_floats(static_cast<size_t>(kRows * m.n_in), seed);
      const auto all = run(w, x, kRows, arith);
      for (int rows : {1, 2, 3, 4, 5, 6, 7, 13}) {
        for (int first : {0, 11, kRows - rows}) {
          const std::vector<float> some(x.begin() + first * m.n_in,
                                        x.begin() + (first + rows) * m.n_in);
          const auto y = run(w, some, rows, arith);
          ASSERT_EQ(std::memcmp(y.data(), all.data() + first * m.n_out, y.size() * sizeof(float)),
                    0)
              << testing::layout_name(layout) << " arith " << static_cast<int>(arith) << " rows "
              << rows << " from " << first;
        }
      }
      ThreadPool alone(1), three(3);
      for (ThreadPool* other : {&alone, &three}) {
        std::vector<float> y(all.size());
        const PackedMatrix* parts[] = {&w};
        linear({.x = x.data(),
                .n_rows = kRows,
                .parts = parts,
                .y = y.data(),
                .arith = arith,
                .isa = GetParam()},
               workspace, *other);
        ASSERT_EQ(std::memcmp(y.data(), all.data(), y.size() * sizeof(float)), 0);
      }
    }
}

TEST_P(LinearOnIsa, NormsAndConcatenatedParts) {
  constexpr int kIn = 320, kRows = 5;
  const TestMatrix q(kQ4_0, 48, kIn, 1), k(kQ8_0, 17, kIn, 2), v(kBF16, 9, kIn, 3);
  const PackedMatrix wq = q.pack(pool), wk = k.pack(pool), wv = v.pack(pool);
  const PackedMatrix* parts[] = {&wq, &wk, &wv};
  const auto x = random_floats(kRows * kIn, 4), weight = random_floats(kIn, 5),
             shift = random_floats(kIn, 6);
  const auto bias = random_floats(48 + 17 + 9, 7);
  for (const Norm& norm : {Norm{}, Norm{Norm::rms, weight.data(), nullptr, 1e-5f},
                           Norm{Norm::layer, weight.data(), shift.data(), 1e-5f},
                           Norm{Norm::rms, nullptr, nullptr, 1e-6f}}) {
    std::vector<float> y(kRows * (48 + 17 + 9));
    linear({.x = x.data(),
            .n_rows = kRows,
            .norm = norm,
            .parts = parts,
            .bias = bias.data(),
            .y = y.data(),
            .isa = GetParam()},
           workspace, pool);
    size_t at = 0;
    for (int t = 0; t < kRows; ++t) {
      const auto row = norm_oracle(norm, x.data() + t * kIn, kIn);
      size_t column = 0;
      for (const TestMatrix* m : {&q, &k, &v})
        for (int n = 0; n < m->n_out; ++n, ++at, ++column) {
          const Expected e = dot_oracle(*m, n, row, limit_of(*m, Arith::accurate),
                                        norm.kind == Norm::none ? 0 : 16 * kEps);
          ASSERT_NEAR(y[at], e.value + bias[column],
                      e.bound + kEps * (std::abs(e.value) + std::abs(bias[column])))
              << "norm " << norm.kind << " at " << t << "," << n;
        }
    }
  }
}

double act_oracle(Act act, double x) {
  switch (act) {
    case Act::none:
      return x;
    case Act::silu:
      return x / (1 + std::exp(-x));
    case Act::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Act::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Act::relu:
      return std::max(x, 0.0);
  }
  return 0;
}

TEST_P(LinearOnIsa, GatedActivations) {
  constexpr int kIn = 64, kOut = 37, kRows = 4;
  const TestMatrix gate(kF32, kOut, kIn, 1), up(kQ8_0, kOut, kIn, 2);
  const PackedMatrix wg = gate.pack(pool), wu = up.pack(pool);
  const PackedMatrix* parts[] = {&wg, &wu};
  auto x = random_floats(kRows * kIn, 3);
  for (int k = 0; k < kIn; ++k) x[static_cast<size_t>(k)] *= 1e-3f;  // a row near zero, one far out
  for (int k = kIn; k < 2 * kIn; ++k) x[static_cast<size_t>(k)] *= 40.0f;
  for (Act act : {Act::none, Act::silu, Act::gelu, Act::gelu_tanh, Act::relu}) {
    std::vector<float> y(kRows * kOut);
    linear({.x = x.data(),
            .n_rows = kRows,
            .parts = parts,
            .act = act,
            .gated = true,
            .y = y.data(),
            .isa = GetParam()},
           workspace, pool);
    for (int t = 0; t < kRows; ++t)
      for (int n = 0; n < kOut; ++n) {
        const std::vector<double> row(x.begin() + t * kIn, x.begin() + (t + 1) * kIn);
        const Expected g = dot_oracle(gate, n, row, 0, 0), u = dot_oracle(up, n, row, 32767, 0);
        const double a = act_oracle(
            act, g.value);  // every act has a slope below 1.2, and is good to 8 eps of |x|
        const double bound =
            (1.2 * g.bound + 8 * kEps * std::abs(g.value)) * (std::abs(u.value) + u.bound) +
            std::abs(a) * u.bound;
        ASSERT_NEAR(y[static_cast<size_t>(t * kOut + n)], a * u.value, bound)
            << "act " << static_cast<int>(act);
      }
  }
}

TEST_P(LinearOnIsa, ResidualMayAliasAndRowsMayBePicked) {
  constexpr int kIn = 96, kOut = 33;
  const TestMatrix m(kQ4_1, kOut, kIn, 1);
  const PackedMatrix w = m.pack(pool);
  const PackedMatrix* parts[] = {&w};
  const auto x = random_floats(6 * kIn, 2), residual = random_floats(3 * kOut, 3);
  const int32_t rows[] = {5, 0, 5};
  const auto plain = run(w, x, 6, Arith::accurate);
  auto y = residual;
  linear({.x = x.data(),
          .rows = rows,
          .n_rows = 3,
          .parts = parts,
          .scale = 0.5f,
          .softcap = 3,
          .residual = y.data(),
          .y = y.data(),
          .isa = GetParam()},
         workspace, pool);
  for (size_t t = 0; t < 3; ++t)
    for (size_t n = 0; n < kOut; ++n) {
      const double v = 3 * std::tanh(0.5 * plain[static_cast<size_t>(rows[t]) * kOut + n] / 3);
      const double r = residual[t * kOut + n];
      ASSERT_NEAR(y[t * kOut + n], v + r, 4 * kEps * (std::abs(v) + std::abs(r)));
    }
}

TEST_P(LinearOnIsa, RoundsToTheGrid) {
  const TestMatrix m(kF32, 40, 50, 1);
  const PackedMatrix w = m.pack(pool);
  const PackedMatrix* parts[] = {&w};
  const auto x = random_floats(50, 2);
  const auto full = run(w, x, 1, Arith::exact);
  for (Round round : {Round::f16, Round::bf16}) {
    const int bits = round == Round::f16 ? 10 : 7;
    auto rounded = x;
    for (float& v : rounded)
      v = static_cast<float>(
          std::ldexp(std::nearbyint(std::ldexp(v, bits - std::ilogb(v))), std::ilogb(v) - bits));
    const auto sums = run(w, rounded, 1, Arith::exact);
    std::vector<float> y(40);
    linear({.x = x.data(),
            .n_rows = 1,
            .parts = parts,
            .y = y.data(),
            .arith = Arith::exact,
            .round = round,
            .isa = GetParam()},
           workspace, pool);
    for (size_t n = 0; n < 40; ++n) {
      const double v = sums[n];
      EXPECT_EQ(y[n], std::ldexp(std::nearbyint(std::ldexp(v, bits - std::ilogb(v))),
                                 std::ilogb(v) - bits));
    }
  }
}

TEST_P(LinearOnIsa, NanAndInfinityStayInTheirRow) {
  for (const Layout& layout : {kQ4_0, kQ4_1, kQ8_0, kBF16})
    for (Arith arith : {Arith::accurate, Arith::int8, Arith::exact})
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const TestMatrix m(layout, 20, 64, 1);
        const PackedMatrix w = m.pack(pool);
        auto x = random_floats(8 * 64, 2);
        const auto clean = run(w, x, 8, arith);
        x[3 * 64 + 40] = bad;
        const auto y = run(w, x, 8, arith);
        for (size_t t = 0; t < 8; ++t)
          for (size_t n = 0; n < 20; ++n) {
            if (t == 3)
              ASSERT_FALSE(std::isfinite(y[t * 20 + n])) << testing::layout_name(layout);
            else
              ASSERT_EQ(y[t * 20 + n], clean[t * 20 + n]);
          }
      }
}

TEST(Linear, ChecksShapes) {
  ThreadPool pool(1);
  Workspace workspace;
  const PackedMatrix a = TestMatrix(kF32, 4, 8, 1).pack(pool),
                     b = TestMatrix(kF32, 4, 9, 1).pack(pool);
  const PackedMatrix* parts[] = {&a, &b};
  float x[9] = {}, y[8];
  EXPECT_THROW(linear({.x = x, .n_rows = 1, .parts = parts, .y = y}, workspace, pool),
               CheckFailure);
  EXPECT_THROW(
      linear({.x = x, .n_rows = 1, .parts = {parts, 1}, .gated = true, .y = y}, workspace, pool),
      CheckFailure);
}

}  // namespace
}  // namespace mlxforge::cpu
