#include "sampling/token_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace mlxforge {
namespace {

TEST(TokenMask, KeepsExactlyTheIdsWhoseBitIsSet) {
  std::mt19937 random(1);
  for (const size_t n : {1, 31, 32, 33, 64, 97, 1000}) {
    for (const uint32_t fill : {0u, ~0u, 0x5a5a1234u}) {
      for (const size_t words : {n / 32, (n + 31) / 32, n / 32 + 3}) {
        std::vector<uint32_t> mask(words, fill);
        for (auto& word : mask)
          if (random() % 3 == 0) word = static_cast<uint32_t>(random());
        std::vector<float> logits(n, 1.5f);
        mask_logits(logits, mask);
        for (size_t id = 0; id < n; ++id) {
          const bool allowed = id / 32 < mask.size() && (mask[id / 32] >> id % 32 & 1);
          EXPECT_EQ(logits[id], allowed ? 1.5f : -INFINITY) << id << " of " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mlxforge
