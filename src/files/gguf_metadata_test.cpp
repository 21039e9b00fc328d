#include "files/gguf_test_support.h"

namespace mlxforge {
namespace {

using namespace gguf_pieces;

class Metadata : public testing::Test {
 protected:
  std::string error_in(auto access) const {
    return error_of([&] { access(gguf_.metadata); });
  }
  static void expect_says(const std::string& error, std::initializer_list<const char*> parts) {
    EXPECT_TRUE(error.starts_with("[files] m.gguf: ")) << error;
    for (const char* part : parts) EXPECT_NE(error.find(part), std::string::npos) << error;
  }

  const std::string file_ =
      header(0, 9) + value("i", GgufType::i16, le(int16_t{-3})) +
      value("u", GgufType::u64, le(~0ull)) + value("f", GgufType::f32, le(1.5f)) +
      value("b", GgufType::boolean, "\x02") + value("s", GgufType::string, text("llama")) +
      array("scores", GgufType::u8, 3, "abc") +
      array("ints", GgufType::i64, 2, le(int64_t{7}) + le(int64_t{1} << 40)) +
      array("none", GgufType::f32, 0, "") +
      array("words", GgufType::string, 2, text("a") + text(""));
  const Gguf gguf_ = parse_gguf(bytes_of(file_), "m.gguf");
};

TEST_F(Metadata, ConvertsOnlyWhatFits) {
  const GgufMetadata& m = gguf_.metadata;
  EXPECT_EQ(m.get<int32_t>("i"), -3);
  EXPECT_EQ(m.get<uint64_t>("u"), ~0ull);
  EXPECT_EQ(m.get<double>("f"), 1.5);
  EXPECT_EQ(m.get<std::string_view>("s"), "llama");
  EXPECT_EQ(m.get_or<float>("absent", 0.5f), 0.5f);
  EXPECT_EQ(m.get_or<float>("f", 0.5f), 1.5f);
  EXPECT_EQ(m.array<int64_t>("ints"), (std::vector<int64_t>{7, int64_t{1} << 40}));
  EXPECT_TRUE(m.array<float>("none").empty());
  EXPECT_EQ(m.array<std::string_view>("words"), (std::vector<std::string_view>{"a", ""}));
  EXPECT_EQ(m.values().size(), 9);
}

TEST_F(Metadata, ErrorsNameTheKeyWhatWasExpectedAndWhatIsThere) {
  using M = GgufMetadata;
  expect_says(error_in([](const M& m) { m.get<uint32_t>("llama.block_count"); }),
              {"u32", "\"llama.block_count\"", "no such key"});
  expect_says(error_in([](const M& m) { m.array<float>("absent"); }),
              {"array of f32", "\"absent\"", "no such key"});
  expect_says(error_in([](const M& m) { m.get<uint32_t>("i"); }),
              {"expected u32", "\"i\"", "got i16 -3"});
  expect_says(error_in([](const M& m) { m.get<int64_t>("u"); }),
              {"expected i64", "\"u\"", "got u64 18446744073709551615"});
  expect_says(error_in([](const M& m) { m.get_or<int32_t>("f", 1); }),
              {"expected i32", "\"f\"", "got f32 1.5"});
  expect_says(error_in([](const M& m) { m.get<float>("i"); }), {"expected f32", "got i16"});
  expect_says(error_in([](const M& m) { m.get<bool>("b"); }),
              {"expected bool", "\"b\"", "got bool 2"});
  expect_says(error_in([](const M& m) { m.get<float>("s"); }), {"got string \"llama\""});
  expect_says(error_in([](const M& m) { m.get<uint32_t>("ints"); }), {"got array of 2 x i64"});
  expect_says(error_in([](const M& m) { m.array<float>("scores"); }),
              {"array of f32", "\"scores\"", "got array of 3 x u8"});
  expect_says(error_in([](const M& m) { m.array<int32_t>("ints"); }),
              {"array of i32", "\"ints\"", "element 1"});
  expect_says(error_in([](const M& m) { m.array<std::string_view>("s"); }),
              {"array of string", "got string"});
}

}  // namespace
}  // namespace mlxforge
