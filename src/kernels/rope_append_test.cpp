// rope_append at every place it runs: q and the pool's contents against the rotation in double
// precision.
#include "kernels/rope_append.h"

#include <gtest/gtest.h>

#include "kernels/testing.h"

namespace mlxforge {
namespace {

using namespace testing;

constexpr AttentionShape kShape{.n_q = 4, .n_kv = 2, .d_k = 16, .d_v = 24};
constexpr int kSlots = 96;
// A prefill chunk over a block's border, a decode in another sequence's block, and a far position.
const std::vector<int32_t> kPositions = {30, 31, 32, 33, 5, 40000};
const std::vector<int32_t> kAt = {62, 63, 0, 1, 37, 95};

class RopeAppend : public ::testing::TestWithParam<Place> {
 protected:
  const Place place = GetParam();
  const Exec exec = make_exec(place);
  const int T = static_cast<int>(kPositions.size()), width = kShape.qkv_width();
  const std::vector<float> qkv = random_values(T * width, 1);
  KvPool pool{array_of(marked(kShape.d_k), {2, kSlots, kShape.d_k}, exec.kv),
              array_of(marked(kShape.d_v), {2, kSlots, kShape.d_v}, exec.kv)};

  static std::vector<float> marked(int d) { return std::vector<float>(2 * kSlots * d, -7); }

  std::vector<float> run(const Rope& rope) {
    const mx::array positions(kPositions.begin(), {T}, mx::int32);
    mx::array q = rope_append(exec, array_of(qkv, {T, width}, exec.between()), kShape, rope,
                              positions, pool, kAt);
    mx::eval(q, pool.k, pool.v);
    EXPECT_EQ(q.dtype(), exec.between());
    return floats_of(q);
  }

  // Element i of a head whose row starts at `x`, rotated. An f32 angle is off by some roundings of
  // its own size; sine, cosine, their products and the sum lie on the grid.
  Bounded rotated(const float* x, const Rope& rope, int position, int i) const {
    const int pairs = static_cast<int>(rope.inv_freq.size());
    if (i >= 2 * pairs) return {x[i]};
    const int pair = rope.interleaved ? i / 2 : i % pairs;
    const bool second = rope.interleaved ? i % 2 == 1 : i >= pairs;
    const int other = i + (rope.interleaved ? 1 : pairs) * (second ? -1 : 1);
    const double angle = double(position) * rope.inv_freq[pair];
    const double error = 3 * kF32 * angle + kF32;
    const auto c = Bounded{std::cos(angle), error}.rounded(place.act);
    const auto s = Bounded{second ? std::sin(angle) : -std::sin(angle), error}.rounded(place.act);
    return ((c * x[i]).rounded(place.act) + (s * x[other]).rounded(place.act)).rounded(place.act);
  }

  void check(const Rope& rope) {
    const auto q = run(rope);
    std::vector<Bounded> want_q, want_k(marked(kShape.d_k).size(), {-7}),
        want_v(marked(kShape.d_v).size(), {-7});
    const int d = kShape.d_k, d_v = kShape.d_v;
    for (int t = 0; t < T; ++t) {
      const float* row = qkv.data() + t * width;
      for (int i = 0; i < kShape.n_q * d; ++i) {
        want_q.push_back(rotated(row + i / d * d, rope, kPositions[t], i % d));
      }
      row += kShape.n_q * d;
      for (int h = 0; h < kShape.n_kv; ++h) {
        for (int i = 0; i < d; ++i) {
          want_k[(h * kSlots + kAt[t]) * d + i] =
              rotated(row + h * d, rope, kPositions[t], i).rounded(exec.kv);
        }
        for (int i = 0; i < d_v; ++i) {
          want_v[(h * kSlots + kAt[t]) * d_v + i] = {row[kShape.n_kv * d + h * d_v + i]};
        }
      }
    }
    expect_within(q, want_q);
    expect_within(floats_of(pool.k), want_k);
    expect_within(floats_of(pool.v), want_v);
    EXPECT_TRUE(on_grid(q, place.grid()));
  }
};

INSTANTIATE_TEST_SUITE_P(Places, RopeAppend, ::testing::ValuesIn(all_places()), place_name);

std::vector<float> frequencies(int pairs) {
  std::vector<float> f;
  for (int i = 0; i < pairs; ++i) f.push_back(std::pow(10000.f, -i / float(pairs)));
  return f;
}

TEST_P(RopeAppend, HalvesArePairs) { check({.inv_freq = frequencies(8)}); }
TEST_P(RopeAppend, NeighboursArePairs) { check({.inv_freq = frequencies(8), .interleaved = true}); }
TEST_P(RopeAppend, PartOfAHeadRotates) { check({.inv_freq = frequencies(6)}); }
TEST_P(RopeAppend, NothingRotates) { check({}); }

TEST_P(RopeAppend, OwnKernelsWriteThePoolInPlace) {
  const void* before = pool.k.data<uint8_t>();
  run({.inv_freq = frequencies(8)});
  if (place.on_cpu()) {
    EXPECT_EQ(pool.k.data<uint8_t>(), before);
  }
}

}  // namespace
}  // namespace mlxforge
