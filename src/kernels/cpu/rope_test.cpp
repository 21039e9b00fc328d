#include "kernels/cpu/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace mlxforge::cpu {
namespace {

std::vector<float> random_floats(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& x : out) x = normal(rng);
  return out;
}

std::vector<float> inverse_frequencies(int dims, double base) {
  std::vector<float> out;
  for (int i = 0; i < dims / 2; ++i)
    out.push_back(static_cast<float>(std::pow(base, -2.0 * i / dims)));
  return out;
}

struct Shape {
  int n_q = 3;
  int n_kv = 2;
  int d_k = 64;
  int d_v = 64;
  KvType type = KvType::f32;
  int dims = 64;
  bool interleaved = false;
  float scale = 1;
  QkNorm norm = {};
};

struct Result {
  std::vector<float> q;       // (T, n_q, d_k)
  std::vector<uint8_t> k, v;  // pools
  int64_t n_slots;
};

// Token t goes to slot 2 t + 1; the rest of the pool keeps 0xee.
Result append(const Shape& s, const std::vector<float>& qkv, const std::vector<int32_t>& positions,
              ThreadPool& pool) {
  const int T = static_cast<int>(positions.size());
  const auto freq = inverse_frequencies(s.dims, 10000);
  std::vector<int32_t> slots;
  for (int t = 0; t < T; ++t) slots.push_back(2 * t + 1);
  Result r{std::vector<float>(static_cast<size_t>(T * s.n_q * s.d_k)), {}, {}, 2 * T + 2};
  r.k.assign(static_cast<size_t>(s.n_kv * r.n_slots * s.d_k) * kv_bytes(s.type), 0xee);
  r.v.assign(static_cast<size_t>(s.n_kv * r.n_slots * s.d_v) * kv_bytes(s.type), 0xee);
  RopeAppendArgs args{.qkv = qkv.data(),
                      .n_tokens = T,
                      .n_q = s.n_q,
                      .rope = {freq.data(), s.dims, s.interleaved, s.scale},
                      .norm = s.norm,
                      .positions = positions.data(),
                      .slots = slots.data(),
                      .kv = {r.k.data(), r.v.data(), s.type, s.n_kv, r.n_slots, s.d_k, s.d_v},
                      .q = r.q.data()};
  rope_append(args, pool);
  return r;
}

size_t row_width(const Shape& s) {
  return static_cast<size_t>((s.n_q + s.n_kv) * s.d_k + s.n_kv * s.d_v);
}

// The definition in double, of the f32 angle.
std::vector<double> norm_of(const QkNorm& norm, const float* weight, const float* bias,
                            std::vector<double> x, size_t n) {
  for (size_t at = 0; at < x.size(); at += n) {
    double mean = 0, square = 0;
    if (norm.kind == QkNorm::Kind::layer) {
      for (size_t i = 0; i < n; ++i) mean += x[at + i] / static_cast<double>(n);
    }
    for (size_t i = 0; i < n; ++i)
      square += (x[at + i] - mean) * (x[at + i] - mean) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i)
      x[at + i] = (x[at + i] - mean) / std::sqrt(square + norm.eps) * (weight ? weight[i] : 1) +
                  (bias ? bias[i] : 0);
  }
  return x;
}
std::vector<double> rotated(const Shape& s, std::vector<double> x, int position) {
  const auto freq = inverse_frequencies(s.dims, 10000);
  for (size_t head = 0; head < x.size(); head += static_cast<size_t>(s.d_k)) {
    for (int i = 0; i < s.dims / 2; ++i) {
      const float angle = static_cast<float>(position) * s.scale * freq[static_cast<size_t>(i)];
      const double c = std::cos(double{angle}), sn = std::sin(double{angle});
      double& a = x[head + static_cast<size_t>(s.interleaved ? 2 * i : i)];
      double& b = x[head + static_cast<size_t>(s.interleaved ? 2 * i + 1 : i + s.dims / 2)];
      const double old = a;
      a = a * c - b * sn;
      b = old * sn + b * c;
    }
  }
  return x;
}
std::vector<double> expected(const Shape& s, const float* in, int heads, const float* weight,
                             const float* bias, int position) {
  std::vector<double> x(in, in + heads * s.d_k);
  const size_t n = static_cast<size_t>(s.norm.whole_row ? heads * s.d_k : s.d_k);
  const bool normed = s.norm.kind != QkNorm::Kind::none;
  if (normed && !s.norm.after_rope) x = norm_of(s.norm, weight, bias, x, n);
  x = rotated(s, x, position);
  if (normed && s.norm.after_rope) x = norm_of(s.norm, weight, bias, x, n);
  return x;
}

// The value at (head, slot, i) of a pool.
double read(const Shape& s, const Result& r, const std::vector<uint8_t>& pool, int d, int head,
            int64_t slot, int i) {
  const uint8_t* p =
      pool.data() + static_cast<size_t>((head * r.n_slots + slot) * d + i) * kv_bytes(s.type);
  uint16_t half;
  std::memcpy(&half, p, 2);
  if (s.type == KvType::f32) {
    float x;
    std::memcpy(&x, p, 4);
    return x;
  }
  if (s.type == KvType::bf16) {
    const uint32_t bits = uint32_t{half} << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  }
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double magnitude =
      exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return half & 0x8000 ? -magnitude : magnitude;
}

void expect_right(const Shape& s, const std::vector<int32_t>& positions) {
  const int T = static_cast<int>(positions.size());
  const auto qkv = random_floats(row_width(s) * positions.size(), 7);
  ThreadPool pool(2);
  const Result r = append(s, qkv, positions, pool);
  // f32 roundings of a rotation and a norm, of values whose largest are about 5; then of the pool's
  // type.
  const double f32 = 4e-6, stored = s.type == KvType::f32   ? 0
                                    : s.type == KvType::f16 ? 0x1p-11
                                                            : 0x1p-8;
  const auto near = [&](double got, double want, double relative) {
    return std::fabs(got - want) <= f32 + relative * std::fabs(want);
  };
  for (int t = 0; t < T; ++t) {
    const float* in = &qkv[row_width(s) * static_cast<size_t>(t)];
    const float* k_in = in + s.n_q * s.d_k;
    const float* v_in = k_in + s.n_kv * s.d_k;
    const auto q =
        expected(s, in, s.n_q, s.norm.q_weight, s.norm.q_bias, positions[static_cast<size_t>(t)]);
    const auto k = expected(s, k_in, s.n_kv, s.norm.k_weight, s.norm.k_bias,
                            positions[static_cast<size_t>(t)]);
    for (size_t i = 0; i < q.size(); ++i)
      ASSERT_TRUE(near(r.q[static_cast<size_t>(t) * q.size() + i], q[i], 0)) << t << " " << i;
    for (int h = 0; h < s.n_kv; ++h) {
      for (int i = 0; i < s.d_k; ++i)
        ASSERT_TRUE(near(read(s, r, r.k, s.d_k, h, 2 * t + 1, i),
                         k[static_cast<size_t>(h * s.d_k + i)], stored))
            << t << " " << h << " " << i;
      for (int i = 0; i < s.d_v; ++i) {
        const double want = v_in[h * s.d_v + i];
        ASSERT_LE(std::fabs(read(s, r, r.v, s.d_v, h, 2 * t + 1, i) - want),
                  stored * std::fabs(want) + (s.type == KvType::f16 ? 0x1p-25 : 0));
      }
      const size_t bytes = kv_bytes(s.type) * static_cast<size_t>(s.d_k);
      const uint8_t* other = r.k.data() + static_cast<size_t>(h * r.n_slots + 2 * t) * bytes;
      EXPECT_EQ(std::vector<uint8_t>(other, other + bytes),
                std::vector<uint8_t>(bytes, 0xee));  // nothing else is written
    }
  }
}

const std::vector<int32_t> kPositions{0, 1, 2, 3, 500, 8191, 65535, 131071};

TEST(Rope, BothPairLayoutsAtEveryPosition) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16}) {
    expect_right({.type = type}, kPositions);
    expect_right({.type = type, .interleaved = true}, kPositions);
  }
}

TEST(Rope, PartialOddAndNoDims) {
  expect_right({.dims = 32}, kPositions);
  expect_right({.dims = 16, .interleaved = true}, kPositions);
  expect_right({.d_k = 80, .d_v = 80, .type = KvType::f16, .dims = 20}, kPositions);
  expect_right({.d_k = 7, .d_v = 13, .type = KvType::bf16, .dims = 6}, kPositions);
  expect_right({.d_k = 128, .d_v = 64, .dims = 0}, kPositions);
  expect_right({.scale = 0.125f}, kPositions);
}

TEST(Rope, QkNorms) {
  const auto weights = random_floats(1000, 1), biases = random_floats(1000, 2);
  for (const auto kind : {QkNorm::Kind::rms, QkNorm::Kind::layer}) {
    for (const bool whole_row : {false, true}) {
      for (const bool after_rope : {false, true}) {
        QkNorm norm{kind,    whole_row, after_rope, 1e-5f, weights.data(), weights.data() + 300,
                    nullptr, nullptr};
        expect_right({.norm = norm}, kPositions);
        norm.q_bias = biases.data(), norm.k_bias = biases.data() + 300, norm.k_weight = nullptr;
        expect_right({.d_k = 20, .d_v = 20, .dims = 12, .norm = norm}, kPositions);
      }
    }
  }
}

// q of one head (1, 0) pairs is the cosine and sine themselves: within an ulp of the f32 angle's,
// to the farthest position.
TEST(Rope, SinesAndCosinesAreAccurate) {
  Shape s{.n_q = 1, .n_kv = 1, .d_k = 128, .d_v = 8, .dims = 128};
  std::vector<float> qkv(row_width(s), 0.0f);
  for (int i = 0; i < 64; ++i) qkv[static_cast<size_t>(i)] = 1;
  const auto freq = inverse_frequencies(128, 10000);
  ThreadPool pool(1);
  for (int position = 0; position < 131072; position += position < 4096 ? 1 : 61) {
    const Result r = append(s, qkv, {position}, pool);
    for (size_t i = 0; i < 64; ++i) {
      const double angle = static_cast<float>(position) * freq[i];
      ASSERT_NEAR(r.q[i], std::cos(angle), 0x1p-24 * std::max(std::fabs(std::cos(angle)), 1e-3))
          << position << " " << i;
      ASSERT_NEAR(r.q[i + 64], std::sin(angle),
                  0x1p-24 * std::max(std::fabs(std::sin(angle)), 1e-3))
          << position << " " << i;
    }
  }
}

TEST(Rope, SameBitsInAnyCompanyAndThreadCount) {
  const Shape s{.type = KvType::f16, .norm = {.kind = QkNorm::Kind::rms, .eps = 1e-6f}};
  std::vector<int32_t> positions;
  for (int t = 0; t < 37; ++t) positions.push_back(t * t);
  const auto qkv = random_floats(row_width(s) * positions.size(), 3);
  ThreadPool one(1), three(3);
  const Result all = append(s, qkv, positions, three);
  for (size_t t = 0; t < positions.size(); ++t) {
    const auto row = qkv.begin() + static_cast<std::ptrdiff_t>(row_width(s) * t);
    const Result alone =
        append(s, {row, row + static_cast<std::ptrdiff_t>(row_width(s))}, {positions[t]}, one);
    const size_t q = alone.q.size();
    EXPECT_EQ(std::memcmp(alone.q.data(), all.q.data() + t * q, q * 4), 0);
    for (int h = 0; h < s.n_kv; ++h) {
      const size_t from = static_cast<size_t>((h * alone.n_slots + 1) * s.d_k) * 2,
                   to = (static_cast<size_t>(h * all.n_slots) + 2 * t + 1) * 128;
      EXPECT_EQ(std::memcmp(&alone.k[from], &all.k[to], 128), 0);
    }
  }
}

}  // namespace
}  // namespace mlxforge::cpu
