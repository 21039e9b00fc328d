#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "text/chat_template.h"
#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;

// llama.cpp's vocabulary files; each .inp holds texts, each .out the ids that Hugging Face's slow
// or original tokenizer gave for them.
std::string vocab_path(const std::string& name) {
  const char* folder = std::getenv("MLXFORGE_VOCABS");
  return std::string(folder ? folder : "MLXFORGE_VOCABS-is-not-set") + "/ggml-vocab-" + name +
         ".gguf";
}

Tokenizer load_vocab(const std::string& name) { return from_gguf_file(vocab_path(name)); }

class LlamaCppVocab : public testing::TestWithParam<const char*> {};

TEST_P(LlamaCppVocab, GivesTheRecordedIds) {
  const Tokenizer tokenizer = load_vocab(GetParam());
  const std::string inputs = read_file(vocab_path(GetParam()) + ".inp");
  std::istringstream outputs(read_file(vocab_path(GetParam()) + ".out"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  size_t begin = 0;
  int texts = 0;
  for (size_t end; (end = inputs.find(separator, begin)) != inputs.npos;
       begin = end + separator.size(), ++texts) {
    std::string line;
    std::getline(outputs, line);
    std::istringstream numbers(line);
    Ids expected;
    for (int32_t id; numbers >> id;) expected.push_back(id);
    const std::string text = inputs.substr(begin, end - begin);
    EXPECT_EQ(tokenizer.encode(text), expected) << '"' << text << '"';
    EXPECT_EQ(tokenizer.decode(expected), text);
  }
  EXPECT_GT(texts, 40);
}

INSTANTIATE_TEST_SUITE_P(Pre, LlamaCppVocab,
                         testing::Values("gpt-2", "llama-bpe", "llama-spm", "qwen2", "starcoder",
                                         "refact", "command-r", "phi-3"));

void expect_encodings(const Tokenizer& tokenizer, const OrderedJson& expected, bool with_affixes) {
  EXPECT_EQ(tokenizer.vocab_size(), expected["vocab_size"].get<int32_t>());
  for (const auto& t : expected["texts"]) {
    const std::string text = t["text"];
    SCOPED_TRACE(text);
    EXPECT_EQ(tokenizer.encode(text), t["plain"].get<Ids>());
    EXPECT_EQ(tokenizer.encode(text, {.parse_special = true}), t["parsed"].get<Ids>());
    if (with_affixes) {
      EXPECT_EQ(tokenizer.encode(text, {.add_special = true, .parse_special = true}),
                t["whole"].get<Ids>());
    }
  }
  for (const auto& d : expected["decodes"])
    EXPECT_EQ(tokenizer.decode(d["ids"].get<Ids>()), d["text"].get<std::string>())
        << d["ids"].dump();
}

class Small : public testing::TestWithParam<const char*> {};

TEST_P(Small, FromJsonAsTokenizersDoes) {
  expect_encodings(from_json_fixture(GetParam()), fixture_json("encodings.json")[GetParam()], true);
}

INSTANTIATE_TEST_SUITE_P(Vocab, Small,
                         testing::Values("smollm", "llama3", "qwen2", "spm", "spm_first"));

class SmallGguf : public testing::TestWithParam<const char*> {};

TEST_P(SmallGguf, FromGgufAsFromJson) {
  expect_encodings(from_gguf_fixture(GetParam()), fixture_json("encodings.json")[GetParam()], true);
}

INSTANTIATE_TEST_SUITE_P(Vocab, SmallGguf, testing::Values("smollm", "llama3", "qwen2", "spm"));

TEST(Tokenizer, ScoresAsSentencePieceDoes) {
  const Tokenizer tokenizer = from_gguf_fixture("spm");
  const OrderedJson encodings = fixture_json("encodings.json");
  for (const auto& t : encodings["spm"]["sentencepiece"])
    EXPECT_EQ(tokenizer.encode(t["text"].get<std::string>()), t["ids"].get<Ids>()) << t["text"];
}

TEST(Tokenizer, SmolLM2sOwnVocabulary) {
  const Tokenizer tokenizer = from_gguf_file("build/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  expect_encodings(tokenizer, fixture_json("smollm2.json"), false);
}

TEST(Tokenizer, Llama3DigitsAndWholeWords) {  // cases 20, 21
  const Tokenizer tokenizer = load_vocab("llama-bpe");
  EXPECT_EQ(tokenizer.encode("3"), Ids{18});
  EXPECT_EQ(tokenizer.encode("33"), Ids{1644});
  EXPECT_EQ(tokenizer.encode("333"), Ids{8765});
  EXPECT_EQ(tokenizer.encode("3333"), (Ids{8765, 18}));
  EXPECT_EQ(tokenizer.encode("33333"), (Ids{8765, 1644}));
  EXPECT_EQ(tokenizer.encode("333333"), (Ids{8765, 8765}));
  EXPECT_EQ(tokenizer.encode(" Việt"), Ids{101798});
}

}  // namespace
}  // namespace mlxforge
