#include "base/utf8.h"

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

TEST(Utf8, ReplacesAsPythonDoesWhereverTheBytesAreCut) {
  for (const auto& c : fixture_json("utf8.json")) {
    std::string bytes;
    for (const int byte : c["bytes"]) bytes += static_cast<char>(byte);
    SCOPED_TRACE(c["bytes"].dump());
    EXPECT_EQ(valid_utf8(bytes), c["text"].get<std::string>());
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      std::string pending, out;
      decode_utf8(pending, std::string_view(bytes).substr(0, cut), out);
      decode_utf8(pending, std::string_view(bytes).substr(cut), out);
      if (!pending.empty()) out += kReplacement;
      EXPECT_EQ(out, c["text"].get<std::string>()) << cut;
    }
  }
}

TEST(Utf8, HoldsBackOnlyWhatMayBecomeACharacter) {
  std::string pending, out;
  decode_utf8(pending, "a\xF0\x9F\x98", out);
  EXPECT_EQ(out, "a");
  EXPECT_EQ(pending, "\xF0\x9F\x98");
  decode_utf8(pending, "\x80", out);
  EXPECT_EQ(out, "a😀");
  decode_utf8(pending, "\xE0\x80", out);  // E0 80 begins no character
  EXPECT_EQ(out, "a😀\uFFFD\uFFFD");
  EXPECT_TRUE(pending.empty());
}

}  // namespace
}  // namespace mlxforge
