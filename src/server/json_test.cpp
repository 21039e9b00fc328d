#include "server/json.h"

#include <gtest/gtest.h>

namespace mlxforge {
namespace {

std::string nested(size_t depth) {
  return "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

TEST(Json, RefusesWhatIsNoObjectOfJson) {
  for (const std::string body : {"", " ", "[]", "\"x\"", "1", "null", "{", "{\"a\":1", "{\"a\":1}}",
                                 "{\"a\":NaN}", "{'a':1}", "{\"a\":1e999}", "{\"a\":-1e999}",
                                 "{\"a\":\"\xff\"}", "{\"a\":\"\\ud800\"}", "\xff\xfe"}) {
    const auto json = parse_body(body);
    ASSERT_FALSE(json.ok()) << body;
    EXPECT_EQ(json.status().code, Code::invalid_request);
    EXPECT_EQ(json.status().param, "body");
  }
  using namespace std::string_literals;
  for (const std::string& body : {"{}\0"s, "{}\0x"s, "\0{}"s, "{\"a\":\"\0\"}"s})
    EXPECT_FALSE(parse_body(body).ok()) << "NUL bytes";
  EXPECT_TRUE(parse_body(R"({"a":"\u0000"})").ok());
}

TEST(Json, NeverRepeatsBytesOfTheBody) {
  const auto json = parse_body("{\"secret\xc3\x28\": \xff}");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.status().message.find("secret"), std::string::npos);
  for (const char c : json.status().message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

TEST(Json, CapsTheDepth) {
  EXPECT_TRUE(parse_body(nested(kMaxRequestDepth - 1)).ok());
  EXPECT_FALSE(parse_body(nested(kMaxRequestDepth)).ok());
  EXPECT_FALSE(parse_body(nested(200'000)).ok());
  EXPECT_FALSE(parse_body("{\"x\":" + std::string(200'000, '[')).ok());
  std::string objects;
  for (int i = 0; i < 20'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse_body(objects).ok());
}

TEST(Json, BracketsInStringsAreNotDepth) {
  EXPECT_TRUE(
      parse_body("{\"x\":\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"}")
          .ok());
}

TEST(Json, CapsTheKeysOfAnObject) {
  const auto with_keys = [](size_t n) {
    std::string body = "{\"a\":{\"b\":1},\"x\":{";
    for (size_t i = 0; i < n; ++i) body += str(i ? "," : "", "\"k", i, "\":{}");
    return body + "}}";
  };
  EXPECT_TRUE(parse_body(with_keys(kMaxObjectKeys)).ok());
  EXPECT_FALSE(parse_body(with_keys(kMaxObjectKeys + 1)).ok());
}

TEST(Json, KeepsTheOrderOfKeysAndTheLastOfEqualOnes) {
  const auto json = parse_body(R"({"b":1,"a":2,"b":3})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(to_text(json.value()), R"({"b":3,"a":2})");
}

TEST(Json, WritesValidUtf8WhateverIsInIt) {
  EXPECT_EQ(to_text({{"a", "x\xff"}}), "{\"a\":\"x\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace mlxforge
