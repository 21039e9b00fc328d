#include <gtest/gtest.h>

#include "base/check.h"
#include "cache/block_manager.h"

namespace mlxforge {
namespace {

TEST(BlockPool, LowestFreeFirstAndContiguousAfterAnother) {
  BlockPool pool(4);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), 1);
  pool.release(0);
  EXPECT_EQ(pool.allocate(1), 2);  // not 0: after 1
  EXPECT_EQ(pool.allocate(2), 3);
  EXPECT_EQ(pool.allocate(3), 0);  // nothing after 3
  EXPECT_EQ(pool.allocate(), std::nullopt);
}

TEST(BlockPool, FreedOnlyByTheLastReference) {
  BlockPool pool(1);
  const BlockId id = *pool.allocate();
  pool.add_reference(id);
  pool.release(id);
  EXPECT_EQ(pool.n_free(), 0);
  pool.release(id);
  EXPECT_EQ(pool.n_free(), 1);
  EXPECT_THROW(pool.release(id), CheckFailure);
  EXPECT_THROW(pool.add_reference(id), CheckFailure);
}

TEST(BlockManager, BudgetIsSharedByTheGroups) {
  BlockManager manager({{.block_bytes = 100}, {.block_bytes = 50, .window = 8}}, 1549);
  EXPECT_EQ(manager.blocks_total(), 10);
  EXPECT_TRUE(manager.could_hold(320));
  EXPECT_FALSE(manager.could_hold(321));
}

TEST(BlockManager, ABudgetTooSmallIsRefusedWithTheLeastOne) {
  const std::vector<CacheGroup> groups = {{.block_bytes = 100}, {.block_bytes = 50, .window = 8}};
  EXPECT_EQ(BlockManager(groups, 300).capacity(), 64);
  for (const size_t budget : {0, 1, 299}) {
    try {
      BlockManager(groups, budget);
      FAIL() << budget;
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find("at least 300 bytes"), std::string::npos);
    }
  }
}

TEST(BlockManager, GrowIsAllOrNothing) {
  BlockManager manager({{.block_bytes = 1}}, 3);
  BlockTables a, b;
  ASSERT_TRUE(manager.grow(a, 33));
  EXPECT_EQ(a.tables[0], (std::vector<BlockId>{0, 1}));
  EXPECT_FALSE(manager.grow(b, 33));
  EXPECT_EQ(manager.blocks_used(), 2);
  EXPECT_TRUE(manager.can_grow(b, 32));
  EXPECT_FALSE(manager.can_grow(b, 33));
  EXPECT_TRUE(manager.can_grow(a, 96));
  ASSERT_TRUE(manager.grow(b, 1));
  manager.release(a);
  manager.release(b);
  EXPECT_EQ(manager.blocks_used(), 0);
}

// Never more than the window (and the chunk in flight) stays in a window group; the full group
// keeps everything.
TEST(BlockManager, WindowGroupGivesBackWhatNoQuerySees) {
  constexpr int kWindow = 40;
  BlockManager manager({{.block_bytes = 1}, {.block_bytes = 1, .window = kWindow}}, 40);
  BlockTables seq;
  for (int n = 1; n <= 320; ++n) {
    ASSERT_TRUE(manager.grow(seq, n));
    manager.release_behind_window(seq, n);
    for (int position = std::max(0, n - kWindow + 1); position < n; ++position) {
      ASSERT_NE(seq.tables[1][position / kBlockTokens], kNoBlock) << n << " " << position;
    }
    int live = 0;
    for (const BlockId id : seq.tables[1]) live += id != kNoBlock;
    ASSERT_LE(live, blocks_for(kWindow) + 1);
  }
  EXPECT_EQ(manager.blocks_used(), 10);
  manager.release(seq);
  EXPECT_EQ(manager.blocks_used(), 0);
}

TEST(BlockManager, SharedBlocksAreFreedByTheLastHolder) {
  BlockManager manager({{.block_bytes = 1}, {.block_bytes = 1, .window = 8}}, 12);  // 6 each
  BlockTables a, b, c;
  ASSERT_TRUE(manager.grow(a, 100));
  ASSERT_TRUE(manager.share(a, 64, b));
  EXPECT_EQ(manager.blocks_used(), 4);
  ASSERT_TRUE(manager.grow(b, 90));
  EXPECT_EQ(manager.blocks_used(), 5);
  for (int g = 0; g < 2; ++g) {
    EXPECT_TRUE(std::equal(a.tables[g].begin(), a.tables[g].begin() + 2, b.tables[g].begin()));
    EXPECT_NE(a.tables[g][2], b.tables[g][2]);
  }
  manager.release(a);
  EXPECT_EQ(manager.blocks_used(), 3);
  manager.release(b);
  EXPECT_EQ(manager.blocks_used(), 0);
  EXPECT_TRUE(manager.can_grow(c, 6 * kBlockTokens));
}

// A window group that has moved on cannot give what a query at the share's end sees.
TEST(BlockManager, WhatIsBehindTheWindowCannotBeShared) {
  BlockManager manager({{.block_bytes = 1}, {.block_bytes = 1, .window = 8}}, 20);
  BlockTables a, b;
  ASSERT_TRUE(manager.grow(a, 130));
  manager.release_behind_window(a, 71);   // sees 64 and later: blocks 0 and 1 are gone
  EXPECT_FALSE(manager.share(a, 64, b));  // a query at 64 sees 57
  EXPECT_TRUE(b.tables.empty());
  EXPECT_TRUE(manager.share(a, 96, b));
  EXPECT_EQ(b.tables[1], (std::vector<BlockId>{kNoBlock, kNoBlock, 2}));
  manager.release(a);
  manager.release(b);
  EXPECT_EQ(manager.blocks_used(), 0);
}

}  // namespace
}  // namespace mlxforge
