// What the tests of the ops share: where an op may run, random operands in the form each place
// wants, and values that know how far off an arithmetic may be.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/linear_testing.h"
#include "kernels/dtype.h"
#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge::testing {

using cpu::testing::TestMatrix;

// One way to run an op. The activation dtype is also what K and V are kept in.
struct Place {
  KernelPath path;
  Arith arith;
  mx::Dtype act;

  bool on_cpu() const { return path == KernelPath::cpu; }
  // The CPU's default arithmetic keeps f32 between ops whatever the checkpoint's dtype.
  mx::Dtype grid() const { return on_cpu() && arith != Arith::exact ? mx::float32 : act; }
};

inline std::string place_name(const ::testing::TestParamInfo<Place>& info) {
  const Place& p = info.param;
  return (!p.on_cpu()                  ? "reference_"
          : p.arith == Arith::exact    ? "cpu_exact_"
          : p.arith == Arith::accurate ? "cpu_accurate_"
                                       : "cpu_int8_") +
         dtype_name(p.act);
}

inline std::vector<Place> all_places() {
  std::vector<Place> places;
  for (const mx::Dtype act : {mx::float32, mx::float16, mx::bfloat16}) {
    places.push_back({KernelPath::reference, Arith::exact, act});
    places.push_back({KernelPath::cpu, Arith::exact, act});
    places.push_back({KernelPath::cpu, Arith::accurate, act});
  }
  return places;
}

inline Exec make_exec(const Place& place) {
  mx::set_default_device(mx::Device::cpu);
  static const auto pool = std::make_shared<mlxforge::ThreadPool>(2);
  static const auto memory = std::make_shared<CpuMemory>();
  return {.path = place.path,
          .arith = place.arith,
          .act = place.act,
          .kv = place.act,
          .pool = pool,
          .memory = memory};
}

// Half the gap between 1 and the next value: the relative error of one rounding.
inline double unit(mx::Dtype d) {
  return d == mx::float16 ? 0x1p-11 : d == mx::bfloat16 ? 0x1p-8 : 0x1p-24;
}
inline constexpr double kF32 = 0x1p-23;  // an f32 product and its addition, rounded apart

inline mx::array array_of(const std::vector<float>& values, const mx::Shape& shape,
                          mx::Dtype dtype) {
  auto array = mx::astype(mx::array(values.begin(), shape, mx::float32), dtype);
  array.eval();
  return array;
}

inline std::vector<float> floats_of(const mx::array& array) {
  const auto f = mx::contiguous(mx::astype(array, mx::float32));
  mx::eval(f);
  return {f.data<float>(), f.data<float>() + f.size()};
}

// Normal values that are exact in every activation dtype.
inline std::vector<float> random_values(size_t n, uint32_t seed, float scale = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = std::ldexp(std::nearbyint(std::ldexp(normal(rng), 5)), -5) * scale;
  return values;
}

// Whether every value lies on the dtype's grid.
inline bool on_grid(const std::vector<float>& values, mx::Dtype dtype) {
  return floats_of(array_of(values, {static_cast<int>(values.size())}, dtype)) == values;
}

// The MLX arrays of a matrix of integer codes; with Zero::centre the bias is -2^(bits - 1) * scale.
inline AffineWeight affine_form(const TestMatrix& m) {
  const int bits = m.layout.bits(), words = m.n_in * bits / 32, groups = m.n_in / m.layout.group;
  std::vector<uint32_t> codes(static_cast<size_t>(m.n_out * words));
  for (size_t i = 0; i < m.codes.size(); ++i) {
    for (int b = 0; b < bits; ++b) {
      const size_t at = i * bits + b;
      codes[at / 32] |= (m.codes[i] >> b & 1u) << at % 32;
    }
  }
  const bool centred = m.layout.zero == cpu::Zero::centre;
  std::vector<float> scales, biases;
  for (size_t g = 0; g < m.scales.size(); ++g) {
    scales.push_back(static_cast<float>(cpu::testing::float_value(m.layout.scale, m.scales[g])));
    biases.push_back(
        centred ? -std::ldexp(scales[g], bits - 1)
                : static_cast<float>(cpu::testing::float_value(m.layout.scale, m.biases[g])));
  }
  const mx::Dtype dtype = centred || m.layout.scale == cpu::ScaleType::f32 ? mx::float32
                          : m.layout.scale == cpu::ScaleType::f16          ? mx::float16
                                                                           : mx::bfloat16;
  return {mx::array(codes.begin(), {m.n_out, words}, mx::uint32),
          array_of(scales, {m.n_out, groups}, dtype), array_of(biases, {m.n_out, groups}, dtype),
          bits, m.layout.group};
}

inline PackedWeight weight_of(const TestMatrix& m, const Exec& exec) {
  PackedWeight packed{.n_out = m.n_out, .n_in = m.n_in, .form = PanelWeight{}};
  if (exec.on_cpu()) {
    packed.form = std::make_shared<const cpu::PackedMatrix>(m.pack(*exec.pool));
  } else if (m.layout.is_float()) {
    const mx::Dtype dtype = m.layout == cpu::kF32   ? mx::float32
                            : m.layout == cpu::kF16 ? mx::float16
                                                    : mx::bfloat16;
    packed.form =
        DenseWeight{array_of({m.weights.begin(), m.weights.end()}, {m.n_out, m.n_in}, dtype)};
  } else {
    packed.form = affine_form(m);
  }
  return packed;
}

// An exact value and how far off the arithmetic under test may be.
struct Bounded {
  double value = 0;
  double error = 0;

  // After a rounding to the grid of `d`, subnormal values included.
  Bounded rounded(mx::Dtype d) const {
    const double tiny = d == mx::float16 ? 0x1p-25 : 0;
    return {value, error + std::max(tiny, unit(d) * (std::abs(value) + error))};
  }
};
inline Bounded operator+(Bounded a, Bounded b) { return {a.value + b.value, a.error + b.error}; }
inline Bounded operator*(Bounded a, Bounded b) {
  return {a.value * b.value,
          a.error * std::abs(b.value) + std::abs(a.value) * b.error + a.error * b.error};
}
inline Bounded operator*(Bounded a, double b) { return a * Bounded{b}; }

inline void expect_within(const std::vector<float>& got, const std::vector<Bounded>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    // Not EXPECT_LE(error, bound), which a NaN would have to fail in words.
    ASSERT_TRUE(std::abs(got[i] - want[i].value) <= want[i].error)
        << "at " << i << ": " << got[i] << " is not " << want[i].value << " +- " << want[i].error;
  }
}

}  // namespace mlxforge::testing
