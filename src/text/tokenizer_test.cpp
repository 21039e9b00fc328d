#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "files/mmap.h"
#include "text/detokenizer.h"

namespace mlxforge {
namespace {

// llama.cpp's vocabulary files; each .inp holds texts, each .out the ids that Hugging Face's slow
// or original tokenizer gave for them.
std::string vocab_path(const std::string& name) {
  const char* folder = std::getenv("MLXFORGE_VOCABS");
  return std::string(folder ? folder : "MLXFORGE_VOCABS-is-not-set") + "/ggml-vocab-" + name +
         ".gguf";
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path << " is missing: run `make setup`";
  return {std::istreambuf_iterator<char>(in), {}};
}

Tokenizer load_vocab(const std::string& name) {
  const MappedFile file(vocab_path(name));
  return Tokenizer::from_gguf(parse_gguf(file.bytes(), name).metadata);
}

using Ids = std::vector<int32_t>;

class LlamaCppVocab : public testing::TestWithParam<const char*> {};

TEST_P(LlamaCppVocab, GivesTheRecordedIds) {
  const Tokenizer tokenizer = load_vocab(GetParam());
  const std::string inputs = read(vocab_path(GetParam()) + ".inp");
  std::istringstream outputs(read(vocab_path(GetParam()) + ".out"));
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
