#include "text/fill_in_middle.h"

#include <algorithm>
#include <array>

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

// A tokenizer that has these as added tokens.
Tokenizer with_added(const std::array<const char*, 3>& words) {
  Json json = Json::parse(fixture("tokenizers/smollm.json"));
  int id = from_json_fixture("smollm").vocab_size();
  for (const char* word : words) {
    Json added = json["added_tokens"][0];
    added["id"] = id++;
    added["content"] = word;
    json["added_tokens"].push_back(added);
  }
  return Tokenizer::from_json(json.dump());
}

void expect_filled(const Tokenizer& tokenizer, const std::array<const char*, 3>& words) {
  const std::string prefix = "def add(a, b):\n    return ", suffix = "\n\nprint(add(1, 2))";
  const std::string spelt = words[0] + prefix + words[1] + suffix + words[2];
  const auto ids = encode_fill_in_middle(tokenizer, prefix, suffix);
  ASSERT_TRUE(ids.ok()) << words[0];
  EXPECT_EQ(ids.value(), tokenizer.encode(spelt, {.add_special = true, .parse_special = true}));
  // A caller's text never becomes one of them.
  const auto hostile = encode_fill_in_middle(tokenizer, words[2], suffix);
  EXPECT_EQ(std::ranges::count(hostile.value(), ids.value().back()), 1);
}

TEST(FillInMiddle, PrefixSuffixMiddleInTheModelsOwnTokens) {
  for (const std::array<const char*, 3>& words :
       {std::array{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
        {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
        {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
        {"▁<PRE>", "▁<SUF>", "▁<MID>"}})
    expect_filled(with_added(words), words);
  for (const char* vocab : {"starcoder", "refact"})
    expect_filled(load_vocab(vocab), {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
}

TEST(FillInMiddle, WhatCannotFitOrNobodyWantsIsAFailure) {
  const Tokenizer tokenizer = with_added({"<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
  const std::string half(5000, 'q');
  EXPECT_TRUE(encode_fill_in_middle(tokenizer, half, half).ok());
  const auto code = [&](const EncodeLimits& limits) {
    return encode_fill_in_middle(tokenizer, half, half, limits).status().code;
  };
  const int least = static_cast<int>(tokenizer.fewest_tokens(half));
  EXPECT_EQ(code({.context = least + 1}), Code::context_exceeded);
  CancelFlag cancel;
  cancel.set();
  EXPECT_EQ(code({.cancel = cancel}), Code::unavailable);
}

TEST(FillInMiddle, NeedsAModelThatKnowsIt) {
  const auto ids = encode_fill_in_middle(from_json_fixture("qwen2"), "a", "b");
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.status().param, "suffix");
}

}  // namespace
}  // namespace mlxforge
