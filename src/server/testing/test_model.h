// A model of 256 byte tokens and a few control tokens, so that a test can say in text what an
// engine produced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/model_context.h"
#include "text/chat_template.h"
#include "text/grammar.h"
#include "text/tokenizer.h"
#include "text/tool_format.h"

namespace mlxforge {

inline constexpr int32_t kTestBos = 256;
inline constexpr int32_t kTestEnd = 257;
inline constexpr int kTestVocab = 258;

inline std::string utf8(int code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

// The printable stand-in for a byte in byte-level BPE (GPT-2's rule): printable Latin-1 stands for
// itself, the others for the code points from 256 on, in order.
inline std::string byte_symbol(int byte) {
  const auto printable = [](int b) { return (b > 32 && b < 127) || (b > 160 && b != 173); };
  if (printable(byte)) return utf8(byte);
  int rank = 0;
  for (int b = 0; b < byte; ++b) rank += !printable(b);
  return utf8(256 + rank);
}

inline std::string test_tokenizer_json() {
  nlohmann::json vocab = nlohmann::json::object();
  for (int b = 0; b < 256; ++b) vocab[byte_symbol(b)] = b;
  const auto special = [](int id, const char* text) {
    return nlohmann::json{{"id", id},        {"content", text}, {"single_word", false},
                          {"lstrip", false}, {"rstrip", false}, {"normalized", false},
                          {"special", true}};
  };
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", true}};
  const nlohmann::json json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", {special(kTestBos, "<s>"), special(kTestEnd, "<|end|>")}},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"vocab", vocab},
        {"merges", nlohmann::json::array()}}}};
  return json.dump();
}

inline std::shared_ptr<ModelContext> test_model(EngineService* engine, int max_ctx = 4096) {
  auto model = std::make_shared<ModelContext>();
  model->id = "tiny";
  model->aliases = {"little"};
  auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::from_json(test_tokenizer_json()));
  const TemplateSource source{
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|end|>{% endfor %}[assistant]", ""};
  model->chat_template = std::make_shared<const ChatTemplate>(source, tokenizer->special_names());
  model->tool_format = tool_format("hermes");
  model->template_reads_tools = false;
  model->grammars =
      std::make_shared<const GrammarCompiler>(tokenizer, std::vector<int32_t>{kTestEnd});
  model->tokenizer = std::move(tokenizer);
  model->max_ctx = max_ctx;
  model->vocab_size = kTestVocab;
  model->embedding.dimensions = 4;
  model->engine = engine;
  return model;
}

inline std::vector<int32_t> bytes_of(std::string_view text) {
  std::vector<int32_t> ids;
  for (const unsigned char c : text) ids.push_back(c);
  return ids;
}

}  // namespace mlxforge
