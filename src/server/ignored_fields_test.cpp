// Fields that nobody knows, and their report.
#include "server/ignored_fields.h"

#include <gtest/gtest.h>

#include "server/testing/api_fixture.h"

namespace mlxforge {
namespace {

using IgnoredFields = Api;

TEST_F(IgnoredFields, UnknownFieldsPassAndAreReported) {
  const ApiResult result = chat(R"("frobnicate":1,"evil\r\nSet-Cookie: a":2,"ümlaut":3)");
  const auto& headers = std::get<Generation>(result).headers;
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].first, "x-ignored-fields");
  EXPECT_EQ(headers[0].second, "frobnicate, evil??Set-Cookie:?a, ??mlaut");
  EXPECT_TRUE(std::get<Generation>(chat("")).headers.empty());
}

TEST_F(IgnoredFields, UnknownStreamOptionsAreReportedToo) {
  const ApiResult result =
      chat(R"("stream_options":{"include_usage":true,"include_obfuscation":false})");
  EXPECT_EQ(std::get<Generation>(result).headers.at(0).second,
            "stream_options.include_obfuscation");
}

TEST_F(IgnoredFields, TheReportOfUnknownFieldsIsBounded) {
  std::string fields = "\"" + std::string(10'000, 'a') + "\":1";
  for (int i = 0; i < 1000; ++i) fields += str(",\"unknown", i, "\":1");
  EXPECT_LT(std::get<Generation>(chat(fields)).headers.at(0).second.size(), 2000u);
}

}  // namespace
}  // namespace mlxforge
