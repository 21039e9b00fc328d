#include "server/http/api_keys.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/check.h"

namespace mlxforge {
namespace {

std::string name_of(const ApiKeys& keys, std::string_view key) {
  const ApiKeys::Entry* found = keys.find(key);
  return found ? found->name : "-";
}

std::filesystem::path file_of(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "mlxforge_api_keys";
  std::ofstream(path) << text;
  return path;
}

TEST(ApiKeys, AreFoundWholeAndUnderTheirNames) {
  ApiKeys keys;
  EXPECT_TRUE(keys.empty());
  EXPECT_EQ(name_of(keys, ""), "-");
  keys.add("sk-one");
  keys.add(" sk-two\n", "alice");
  keys.add("a:b");
  EXPECT_EQ(name_of(keys, "sk-one"), "key1");
  EXPECT_EQ(name_of(keys, "sk-two"), "alice");
  EXPECT_EQ(name_of(keys, "a:b"), "key3");
  for (const char* other : {"", "sk-on", "sk-onee", "SK-ONE", " sk-one", "alice", "sk-two\n"})
    EXPECT_EQ(name_of(keys, other), "-") << other;
}

TEST(ApiKeys, AreReadFromAFile) {
  ApiKeys keys;
  keys.add_file(file_of("# ours\n\nalice: sk-1\r\nsk-2\n  bob:sk:3  \n#sk-4\nlast:sk-5"));
  EXPECT_EQ(name_of(keys, "sk-1"), "alice");
  EXPECT_EQ(name_of(keys, "sk-2"), "key2");
  EXPECT_EQ(name_of(keys, "sk:3"), "bob");
  EXPECT_EQ(name_of(keys, "sk-5"), "last");
  for (const char* other : {"sk-4", "#sk-4", "alice: sk-1", ""})
    EXPECT_EQ(name_of(keys, other), "-");
}

TEST(ApiKeys, RefuseWhatIsAmbiguousWithoutTellingAKey) {
  for (const char* text :
       {"a:secret\na:other", "a:secret\nb:secret", "a:secret\nb:", "a:secret\n:"})
    try {
      ApiKeys().add_file(file_of(text));
      FAIL() << text;
    } catch (const Error& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("line 2"), std::string::npos) << message;
      EXPECT_EQ(message.find("secret"), std::string::npos) << message;
    }
  EXPECT_THROW(ApiKeys().add(""), Error);
  EXPECT_THROW(ApiKeys().add_file("/no/such/file"), Error);
}

}  // namespace
}  // namespace mlxforge
