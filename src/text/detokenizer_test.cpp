#include "text/detokenizer.h"

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

// The ids of the one-byte tokens for `bytes`.
Ids byte_ids(const Tokenizer& tokenizer, std::string_view bytes) {
  Ids ids;
  for (const char byte : bytes) {
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.token_bytes(id) == std::string_view(&byte, 1)) {
        ids.push_back(id);
        break;
      }
    }
  }
  EXPECT_EQ(ids.size(), bytes.size());
  return ids;
}

std::vector<std::string> stream(const Tokenizer& tokenizer, const Ids& ids) {
  Detokenizer detokenizer(tokenizer);
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(detokenizer.push(id));
  pieces.push_back(detokenizer.flush());
  return pieces;
}

using Pieces = std::vector<std::string>;

class Streaming : public testing::TestWithParam<const char*> {
 protected:
  const Tokenizer tokenizer = from_json_fixture(GetParam());
};

TEST_P(Streaming, NeverShowsHalfACharacter) {  // case 17
  EXPECT_EQ(stream(tokenizer, byte_ids(tokenizer, "\xF0\x9F\x98\x80")),
            (Pieces{"", "", "", "😀", ""}));
  const std::string family =
      "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7";
  std::string seen;
  for (const std::string& piece : stream(tokenizer, byte_ids(tokenizer, family))) {
    EXPECT_EQ(piece.find("\uFFFD"), piece.npos);
    seen += piece;
  }
  EXPECT_EQ(seen, family);
}

TEST_P(Streaming, ACutCharacterIsReplacedOnceAtTheEnd) {
  const Ids cut = byte_ids(tokenizer, "\xF0\x9F");
  EXPECT_EQ(stream(tokenizer, cut), (Pieces{"", "", "\uFFFD"}));
  EXPECT_EQ(tokenizer.decode(cut), "\uFFFD");
}

TEST_P(Streaming, InvalidBytesAreReplacedAtOnce) {
  EXPECT_EQ(stream(tokenizer, byte_ids(tokenizer, "\xFF\x80\xE0\x41")),
            (Pieces{"\uFFFD", "\uFFFD", "",
                    "\uFFFD"
                    "A",
                    ""}));
}

TEST_P(Streaming, SpecialTokensAndUnknownIdsGiveNothing) {
  const Ids half = byte_ids(tokenizer, "\xC3\xA9");
  int32_t special = 0;
  while (!tokenizer.is_special(special)) ++special;
  EXPECT_EQ(
      stream(tokenizer, {special, half[0], special, half[1], -1, tokenizer.vocab_size(), special}),
      (Pieces{"", "", "", "é", "", "", "", ""}));
}

INSTANTIATE_TEST_SUITE_P(Vocab, Streaming, testing::Values("smollm", "spm"));

TEST(Detokenizer, OnlyTheFirstTokenLosesTheDummyPrefix) {
  const Tokenizer spm = from_json_fixture("spm");
  const Ids ids = spm.encode(" the dog");  // "▁" of the prefix, "▁" of the text
  EXPECT_EQ(spm.decode(ids), " the dog");
  const int32_t the = spm.token_to_id("▁the").value();
  EXPECT_EQ(stream(spm, {the, the}), (Pieces{"the", " the", ""}));
  const int32_t eos = spm.token_to_id("</s>").value();
  EXPECT_EQ(stream(spm, {eos, the, the}), (Pieces{"", "the", " the", ""}));
}

}  // namespace
}  // namespace mlxforge
