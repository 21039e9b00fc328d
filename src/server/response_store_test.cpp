#include "server/response_store.h"

#include <gtest/gtest.h>

namespace mlxforge {
namespace {

TEST(ResponseStore, KeepsGivesAndForgets) {
  ResponseStore store;
  store.put("a", {"body", "input", "talk"});
  ASSERT_TRUE(store.get("a"));
  EXPECT_EQ(store.get("a")->body, "body");
  EXPECT_EQ(store.get("a")->conversation, "talk");
  EXPECT_FALSE(store.get("b"));
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.erase("a"));
  EXPECT_FALSE(store.get("a"));
}

TEST(ResponseStore, DropsTheOldestBeyondItsBytes) {
  ResponseStore store(100);
  const StoredResponse forty{std::string(20, 'x'), "", std::string(20, 'y')};
  for (const char* id : {"a", "b", "c"}) store.put(id, forty);
  EXPECT_FALSE(store.get("a"));
  EXPECT_TRUE(store.get("b") && store.get("c"));
  store.erase("b");
  store.put("d", forty);
  EXPECT_TRUE(store.get("c") && store.get("d"));
  store.put("large", {std::string(101, 'x'), "", ""});  // more than all: nothing is kept
  for (const char* id : {"c", "d", "large"}) EXPECT_FALSE(store.get(id)) << id;
}

}  // namespace
}  // namespace mlxforge
