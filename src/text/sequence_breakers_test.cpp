#include "text/sequence_breakers.h"

#include <gtest/gtest.h>

#include <random>

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

// By definition: join the text, find where breakers end, and see which tokens those ends lie in.
size_t expected(const Tokenizer& tokenizer, const std::vector<std::string>& strings,
                std::span<const int32_t> tokens) {
  std::string text;
  std::vector<size_t> ends;
  for (const int32_t id : tokens) ends.push_back((text += tokenizer.token_bytes(id)).size());
  size_t last_end = 0;
  for (const auto& s : strings)
    for (size_t at = text.find(s); at != text.npos; at = text.find(s, at + 1))
      last_end = std::max(last_end, at + s.size());
  if (last_end == 0) return tokens.size();
  const auto in = std::ranges::lower_bound(ends, last_end) - ends.begin();
  return tokens.size() - static_cast<size_t>(in) - 1;
}

TEST(SequenceBreakers, CountTheTokensSinceTheLastOne) {
  const auto tokenizer = std::make_shared<const Tokenizer>(from_json_fixture("qwen2"));
  const auto since = [&](std::vector<std::string> strings, std::string_view text) {
    return SequenceBreakers(tokenizer, std::move(strings)).tokens_since(tokenizer->encode(text));
  };
  const auto n = [&](std::string_view text) { return tokenizer->encode(text).size(); };
  EXPECT_EQ(since({"\n"}, "one\n two three"), n(" two three"));
  EXPECT_EQ(since({"\n", ":"}, "one\n two: three"), n(" three"));
  EXPECT_EQ(since({"\n"}, "one two"), n("one two"));
  EXPECT_EQ(since({}, "one two"), n("one two"));
  EXPECT_EQ(since({"two"}, ""), 0u);
  EXPECT_EQ(since({"o"}, "one two"), 0u);
}

TEST(SequenceBreakers, AreFoundHoweverTokensCutTheText) {
  const auto tokenizer = std::make_shared<const Tokenizer>(from_json_fixture("qwen2"));
  std::mt19937 random(5);
  std::vector<int32_t> alphabet;
  for (const char* s : {"a", "b", "ab", "ba", "é", "\n", "hello", " "})
    for (const int32_t id : tokenizer->encode(s)) alphabet.push_back(id);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int32_t> tokens(random() % 12);
    for (auto& id : tokens) id = alphabet[random() % alphabet.size()];
    const std::vector<std::string> strings[] = {
        {"aba"}, {"b"}, {"é"}, {"bé", "a\n"}, {"hello b", "bb"}, {"aaaaab", "\n\n"}};
    for (const auto& s : strings)
      EXPECT_EQ(SequenceBreakers(tokenizer, s).tokens_since(tokens),
                expected(*tokenizer, s, tokens));
  }
}

}  // namespace
}  // namespace mlxforge
