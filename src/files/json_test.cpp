#include "files/json.h"

#include "files/test_support.h"

namespace mlxforge {
namespace {

std::string json_error(const std::string& text) {
  return error_of([&] { parse_json(text, "x.json"); });
}

TEST(Json, ReadsWhatPythonWrites) {
  const Json json =
      parse_json(R"({"a": [1, -2, 0.5, 1e-05], "b": {"a": null}, "é": "\ud83d\ude00"})", "x.json");
  EXPECT_EQ(json["a"][3].get<double>(), 1e-5);
  EXPECT_TRUE(json["b"]["a"].is_null());  // the same key in another object is no duplicate
  EXPECT_EQ(json["é"], "😀");
}

TEST(Json, SyntaxErrorsSayWhere) {
  EXPECT_EQ(json_error("{\n  \"a\": 1,\n  \"b\": }"),
            "[files] x.json: expected JSON, got a syntax error at line 3, column 8");
  for (const std::string text : {"", " ", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "{}x", "'a'",
                                 "NaN", "\"\xff\"", "\"a\nb\""})
    EXPECT_NE(json_error(text).find("syntax error at line "), std::string::npos) << text;
}

TEST(Json, TextBehindANulByteIsNotIgnored) {
  EXPECT_EQ(json_error(std::string("{}\0{", 4)),
            "[files] x.json: expected JSON, got a syntax error at line 1, column 3");
}

TEST(Json, NumbersMustFit) {
  EXPECT_NE(json_error("[1e999]").find("number too large"), std::string::npos);
}

TEST(Json, DuplicateKeysAreRefusedAtEveryLevel) {
  for (const std::string text :
       {R"({"a":1,"a":1})", R"([{"b":{"a":1,"c":[],"a":2}}])", R"({"a":1,"\u0061":2})"})
    EXPECT_NE(json_error(text).find("the key \"a\" appears twice"), std::string::npos) << text;
}

TEST(Json, DepthIsCapped) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(json_error(nested(kMaxJsonDepth)), "");
  EXPECT_EQ(json_error(nested(kMaxJsonDepth + 1)),
            "[files] x.json: expected JSON at most 64 levels deep, got more");
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += R"({"a":)";
  for (const std::string& text : {nested(200'000), nested(4'000'000), objects})
    EXPECT_NE(json_error(text).find("levels deep"), std::string::npos);
}

TEST(Json, TimeGrowsWithTheTextAndNoFaster) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += str(i ? "," : "", '"', i, "\":{\"a\":[1,{}]}");
  EXPECT_EQ(parse_json(text + "}", "x.json").size(), 100'000);  // minutes if it were quadratic
}

TEST(Json, FileErrorsNameTheFile) {
  const TempDir dir;
  const auto path = dir.write("config.json", "{");
  EXPECT_NE(error_of([&] { parse_json_file(path); }).find(path.string()), std::string::npos);
  EXPECT_NE(error_of([&] { parse_json_file(dir / "none.json"); }).find("none.json"),
            std::string::npos);
}

}  // namespace
}  // namespace mlxforge
