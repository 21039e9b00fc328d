#include "kernels/cpu/random.h"

#include <gtest/gtest.h>

#include <set>

namespace mlxforge::cpu {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that the authors publish with Random123 (kat_vectors, philox4x32 10).
TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, EveryPartOfTheKeyCounts) {
  std::set<uint64_t> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, ~uint64_t{0}}) {
    for (const uint32_t choice : {0u, 1u, 1u << 31}) {
      for (const uint32_t output : {0u, 1u, 2u, 1u << 31}) {
        const RandomBits bits = random_bits({seed, choice, output});
        seen.insert(bits.draw);
        seen.insert(bits.filter);
      }
    }
  }
  EXPECT_EQ(seen.size(), 4u * 3 * 4 * 2);
}

}  // namespace
}  // namespace mlxforge::cpu
