// Texts that are encoded in parts, given up half way, or too long by their bytes alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;
using OrderedJson = nlohmann::ordered_json;

// All texts of the fixture, again and again.
void expect_long_encoding(const Tokenizer& tokenizer, const OrderedJson& expected) {
  std::string once, text;
  for (const auto& t : expected["texts"]) once += t["text"].get<std::string>();
  for (int i = 0; i < expected["long"]["repeats"]; ++i) text += once;
  const Ids ids = tokenizer.encode(text);
  uint64_t checksum = 0;
  for (size_t i = 0; i < ids.size(); ++i) checksum += (i + 1) * static_cast<uint64_t>(ids[i]);
  EXPECT_EQ(ids.size(), expected["long"]["ids"].get<size_t>());
  EXPECT_EQ(checksum, expected["long"]["checksum"].get<uint64_t>());
}

TEST(LongText, GivesTheIdsThatTokenizersGives) {
  const OrderedJson encodings = fixture_json("encodings.json");
  for (const char* name : {"smollm", "llama3", "qwen2", "spm", "spm_first"}) {
    SCOPED_TRACE(name);
    expect_long_encoding(from_json_fixture(name), encodings[name]);
  }
  for (const char* name : {"smollm", "llama3", "qwen2", "spm"}) {
    SCOPED_TRACE(name);
    expect_long_encoding(from_gguf_fixture(name), encodings[name]);
  }
  expect_long_encoding(from_gguf_file("build/models/SmolLM2-135M-Instruct.Q4_1.gguf"),
                       fixture_json("smollm2.json"));
}

TEST(LongText, TheRestIsSkippedOnceNobodyWantsIt) {
  const Tokenizer tokenizer = from_json_fixture("smollm");
  std::string text;
  while (text.size() < 1 << 20) text += "the quick brown fox ";
  CancelFlag cancel;
  cancel.set();
  EXPECT_TRUE(tokenizer.encode(text, {}, cancel).empty());
}

// --- the fewest tokens of a text ----------------------------------------------------------------

size_t longest_token(const Tokenizer& tokenizer) {
  size_t longest = 0;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    longest = std::max(longest, tokenizer.token_bytes(id).size());
  return longest;
}

TEST(FewestTokens, NoTextHasFewer) {
  const OrderedJson encodings = fixture_json("encodings.json");
  for (const char* name : {"smollm", "llama3", "qwen2", "spm", "spm_first"}) {
    const Tokenizer tokenizer = from_json_fixture(name);
    for (const auto& t : encodings[name]["texts"]) {
      const std::string text = t["text"];
      EXPECT_LE(tokenizer.fewest_tokens(text), t["plain"].size()) << name << text;
    }
  }
}

TEST(FewestTokens, IsAsManyAsTheLongestTokensTake) {
  for (const auto& [name, composed] : {std::pair("smollm", 1), {"llama3", 1}, {"qwen2", 3}}) {
    const Tokenizer tokenizer = from_json_fixture(name);
    const size_t longest = longest_token(tokenizer) * composed;  // NFC may make three bytes one
    EXPECT_EQ(tokenizer.fewest_tokens(std::string(7 * longest, 'q')), 7) << name;
    EXPECT_EQ(tokenizer.fewest_tokens(std::string(7 * longest + 1, 'q')), 8) << name;
  }
  const Tokenizer spm = from_gguf_fixture("spm");
  EXPECT_EQ(spm.fewest_tokens(std::string(7 * longest_token(spm), 'q')), 7);
  const Tokenizer smollm2 = from_gguf_file("build/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_EQ(smollm2.fewest_tokens(std::string(7 * longest_token(smollm2), 'q')), 7);
}

Tokenizer edited(const char* pointer, const Json& value) {
  Json json = Json::parse(fixture("tokenizers/smollm.json"));
  json[Json::json_pointer(pointer)] = value;
  return Tokenizer::from_json(json.dump());
}

TEST(FewestTokens, BytesSayNothingWhereATokenMayStandForAnyLengthOfText) {
  const std::string text(100'000, 'q');
  EXPECT_EQ(edited("/normalizer", {{"type", "Lowercase"}}).fewest_tokens(text), 0);
  EXPECT_EQ(edited("/normalizer", {{"type", "NFKC"}}).fewest_tokens(text), 0);
  const Json removing = {{"type", "WhitespaceSplit"}};
  EXPECT_EQ(edited("/pre_tokenizer/pretokenizers/0", removing).fewest_tokens(text), 0);
  EXPECT_EQ(edited("/added_tokens/0/rstrip", true).fewest_tokens(text), 0);
}

TEST(FewestTokens, AByteThatIsNoTokenVanishesAndIsNotCounted) {
  Json json = Json::parse(fixture("tokenizers/smollm.json"));
  json["model"]["vocab"].erase("!");
  json["model"]["merges"] = Json::array();
  const Tokenizer tokenizer = Tokenizer::from_json(json.dump());
  const std::string gone(100'000, '!');
  EXPECT_TRUE(tokenizer.encode(gone).empty());
  EXPECT_EQ(tokenizer.fewest_tokens(gone), 0);
  EXPECT_EQ(tokenizer.fewest_tokens(gone + "q"), 1);
}

}  // namespace
}  // namespace mlxforge
