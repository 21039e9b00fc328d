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

size_t longest_of_vocabulary(const Tokenizer& tokenizer) {
  size_t longest = 0;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    longest = std::max(longest, tokenizer.token_bytes(id).size());
  return longest;
}

TEST(LongestToken, NoTextHasFewerTokensThanItSays) {
  for (const auto& [name, composed] : {std::pair("smollm", 1), {"llama3", 1}, {"qwen2", 3}}) {
    const Tokenizer tokenizer = from_json_fixture(name);
    EXPECT_EQ(tokenizer.longest_token(), longest_of_vocabulary(tokenizer) * composed) << name;
    for (const auto& t : fixture_json("encodings.json")[name]["texts"]) {
      const std::string text = t["text"];
      EXPECT_LE(text.size(), t["whole"].size() * tokenizer.longest_token()) << name << text;
    }
  }
  const Tokenizer spm = from_gguf_fixture("spm");
  EXPECT_EQ(spm.longest_token(), longest_of_vocabulary(spm));
}

Tokenizer edited(const char* pointer, const Json& value) {
  Json json = Json::parse(fixture("tokenizers/smollm.json"));
  json[Json::json_pointer(pointer)] = value;
  return Tokenizer::from_json(json.dump());
}

TEST(LongestToken, ThereIsNoneWhereATokenMayStandForAnyLengthOfText) {
  EXPECT_EQ(edited("/normalizer", {{"type", "Lowercase"}}).longest_token(), 0);
  EXPECT_EQ(edited("/normalizer", {{"type", "NFKC"}}).longest_token(), 0);
  EXPECT_EQ(edited("/pre_tokenizer/pretokenizers/0", {{"type", "WhitespaceSplit"}}).longest_token(),
            0);
  EXPECT_EQ(edited("/added_tokens/0/rstrip", true).longest_token(), 0);
  Json json = Json::parse(fixture("tokenizers/smollm.json"));
  json["model"]["vocab"].erase("!");  // then it vanishes
  json["model"]["merges"] = Json::array();
  EXPECT_EQ(Tokenizer::from_json(json.dump()).longest_token(), 0);
}

}  // namespace
}  // namespace mlxforge
