// Random matrices with their exact weights, for the tests and the bench of the linear family.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/pack.h"

namespace mlxforge::cpu::testing {

// The value of a 16- or 32-bit float, from the definition of its format.
inline double float_value(ScaleType type, uint32_t bits) {
  const int mantissa_bits = type == ScaleType::f16 ? 10 : type == ScaleType::bf16 ? 7 : 23;
  const int exponent_bits = type == ScaleType::f16 ? 5 : 8;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa =
      std::ldexp(static_cast<double>(bits & ((1u << mantissa_bits) - 1)), -mantissa_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  return (bits >> (mantissa_bits + exponent_bits)) & 1u ? -magnitude : magnitude;
}

// Bits of a float whose magnitude lies around 2^-6 .. 1.
inline uint32_t random_bits(ScaleType type, std::mt19937& rng, bool negative) {
  const int mantissa_bits = type == ScaleType::f16 ? 10 : type == ScaleType::bf16 ? 7 : 23;
  const int exponent_bits = type == ScaleType::f16 ? 5 : 8;
  const uint32_t exponent = (1u << (exponent_bits - 1)) - 2 - rng() % 6;
  const uint32_t sign = negative ? rng() & 1u : 0u;
  return (sign << (mantissa_bits + exponent_bits)) | (exponent << mantissa_bits) |
         (rng() & ((1u << mantissa_bits) - 1));
}

struct TestMatrix {
  Layout layout;
  int n_out, n_in;
  std::vector<uint32_t> codes, scales, biases, values;
  std::vector<double> weights;     // (n_out, n_in), exact
  std::vector<double> magnitudes;  // what each product's f32 sums may reach: scale * |code| and
                                   // |bias| or |centre| apart

  TestMatrix(Layout w, int n_out_, int n_in_, uint32_t seed)
      : layout(w), n_out(n_out_), n_in(n_in_) {
    std::mt19937 rng(seed);
    const auto type = w.is_float() ? static_cast<ScaleType>(w.codes) : w.scale;
    for (int i = 0; i < n_out * n_in; ++i)
      w.is_float() ? add_value(type, rng) : add_code(type, rng, i);
  }

  PackedMatrix pack(ThreadPool& pool) const {
    return cpu::pack(
        layout, n_out, n_in, [this](int row, const RowBuffers& out) { fill(row, out); }, pool);
  }

  void fill(int row, const RowBuffers& out) const {
    const auto from = static_cast<size_t>(row) * static_cast<size_t>(n_in);
    if (layout.is_float()) return put(values, from, n_in, layout.bits() / 8, out.values);
    put(codes, from, n_in, 1, out.codes);
    const int n = n_in / layout.group;
    put(scales, static_cast<size_t>(row * n), n, layout.scale_bytes(), out.scales);
    if (layout.zero == Zero::bias)
      put(biases, static_cast<size_t>(row * n), n, layout.scale_bytes(), out.biases);
  }

 private:
  static void put(const std::vector<uint32_t>& from, size_t at, int n, int bytes, void* out) {
    for (int i = 0; i < n; ++i)
      std::memcpy(static_cast<uint8_t*>(out) + i * bytes, &from[at + static_cast<size_t>(i)],
                  static_cast<size_t>(bytes));
  }
  void add_value(ScaleType type, std::mt19937& rng) {
    values.push_back(random_bits(type, rng, true));
    weights.push_back(float_value(type, values.back()));
    magnitudes.push_back(std::abs(weights.back()));
  }
  void add_code(ScaleType type, std::mt19937& rng, int i) {
    if (i % layout.group == 0) {
      scales.push_back(random_bits(type, rng, true));
      if (layout.zero == Zero::bias) biases.push_back(random_bits(type, rng, true));
    }
    codes.push_back(rng() % (1u << layout.bits()));
    const double scale = float_value(type, scales.back()), code = codes.back();
    const double centre = std::ldexp(1, layout.bits() - 1);
    const double bias = layout.zero == Zero::bias ? float_value(type, biases.back()) : 0;
    weights.push_back(layout.zero == Zero::bias ? scale * code + bias : scale * (code - centre));
    magnitudes.push_back(std::abs(scale) * (code + 2 * centre) + std::abs(bias));
  }
};

inline std::string layout_name(const Layout& w) {
  static constexpr const char* kCodes[] = {"f32", "f16", "bf16", "u2", "u3",
                                           "u4",  "u5",  "u6",   "u8"};
  static constexpr const char* kScales[] = {"f32", "f16", "bf16"};
  std::string name = kCodes[static_cast<int>(w.codes)];
  if (w.is_float()) return name;
  return name + "_g" + std::to_string(w.group) + "_" + kScales[static_cast<int>(w.scale)] +
         (w.zero == Zero::bias ? "_bias" : "");
}

inline std::vector<Layout> all_layouts() {
  std::vector<Layout> all = {kF32, kF16, kBF16};
  for (Codes codes : {Codes::u2, Codes::u3, Codes::u4, Codes::u5, Codes::u6, Codes::u8})
    for (int group : {32, 64, 128})
      for (ScaleType scale : {ScaleType::f32, ScaleType::f16, ScaleType::bf16})
        for (Zero zero : {Zero::centre, Zero::bias}) all.push_back({codes, group, scale, zero});
  return all;
}

}  // namespace mlxforge::cpu::testing
