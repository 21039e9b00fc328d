#include "kernels/cpu/weight_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace mlxforge::cpu {
namespace {

struct Piece {
  WeightMemory memory;
  size_t bytes;
  std::byte mark;
};

// Pieces of up to 100 MB, a third of them given back at once.
void allocate(std::vector<Piece>& out, int thread) {
  for (size_t i = 0; i < 60; ++i) {
    const size_t bytes = i == 30 ? size_t{100} << 20 : (i * 7919 + 1) % 300'000 + 1;
    Piece piece{allocate_weights(bytes), bytes, static_cast<std::byte>(64 * thread + i)};
    std::fill_n(piece.memory.get(), bytes, piece.mark);
    if (i % 3 != 0) out.push_back(std::move(piece));
  }
}

TEST(WeightMemory, PiecesAreAlignedAndTheirOwnUntilReleased) {
  std::vector<Piece> pieces[2];
  std::thread other([&] { allocate(pieces[1], 1); });
  allocate(pieces[0], 0);
  other.join();
  for (const auto& list : pieces)
    for (const Piece& piece : list) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.memory.get()) % 64, 0u);
      const auto foreign = [&](std::byte b) { return b != piece.mark; };
      EXPECT_TRUE(std::none_of(piece.memory.get(), piece.memory.get() + piece.bytes, foreign));
    }
}

TEST(WeightMemory, SmallPiecesShareABlock) {
  const WeightMemory a = allocate_weights(100), b = allocate_weights(100);
  EXPECT_FALSE(a.owner_before(b) || b.owner_before(a));
  EXPECT_LT(std::abs(b.get() - a.get()), ptrdiff_t{64} << 20);
}

}  // namespace
}  // namespace mlxforge::cpu
