#include <gtest/gtest.h>

#include "base/check.h"
#include "base/log.h"
#include "base/status.h"

namespace mlxforge {
namespace {

TEST(Check, ThrowsWithItsParts) {
  EXPECT_NO_THROW(check(true, "x"));
  try {
    check(false, "n is ", 3);
    FAIL();
  } catch (const CheckFailure& e) {
    EXPECT_STREQ(e.what(), "bug: n is 3");
  }
}

TEST(Fail, NamesTheModule) {
  try {
    fail("files", "expected ", 8, " bytes, got ", 3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[files] expected 8 bytes, got 3");
  }
}

TEST(Result, HoldsAValueOrAFailure) {
  Result<int> good = 5;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 5);
  Result<int> bad = Status::invalid("no", "n");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().param, "n");
  EXPECT_THROW(Result<int>(Status{}), CheckFailure);
}

TEST(Log, GoesToTheSink) {
  std::string seen;
  set_log_sink([&](LogLevel, std::string_view line) { seen = line; });
  const LogField fields[] = {
      {.name = "status", .value = "200", .is_number = true, .show_name = false},
      {.name = "id", .value = "a\"\\\n"},
      {.name = "ms", .value = "7"}};
  log_fields(LogLevel::info, fields);
  EXPECT_EQ(seen, "200 id=a\"\\\n ms=7");
  set_log_format(LogFormat::json);
  log_fields(LogLevel::warn, fields);
  const size_t level = seen.find("\"level\"");
  EXPECT_EQ(seen.substr(level), R"("level":"warn","status":200,"id":"a\"\\\u000a","ms":"7"})");
  log_info("line");
  EXPECT_TRUE(seen.ends_with(R"("message":"line"})")) << seen;
  log_info("a\xff\xc3", "b\xe2\x82");
  EXPECT_TRUE(
      seen.ends_with("\"message\":\"a\xEF\xBF\xBD\xEF\xBF\xBD"
                     "b\xEF\xBF\xBD\"}"))
      << seen;
  set_log_format(LogFormat::pretty);
  log_info("a ", 1);
  EXPECT_EQ(seen, "a 1");
}

}  // namespace
}  // namespace mlxforge
