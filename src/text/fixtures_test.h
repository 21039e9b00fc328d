// What the tests of this module share: the fixtures of reference/make_text_fixtures.py.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "files/mmap.h"
#include "text/tokenizer.h"

namespace mlxforge::testing_text {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path << " is missing: run `make setup`";
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string fixture(const std::string& name) {
  return read_file("reference/fixtures_text/" + name);
}

inline nlohmann::ordered_json fixture_json(const std::string& name) {
  return nlohmann::ordered_json::parse(fixture(name));
}

inline Tokenizer from_json_fixture(const std::string& name, const Json& config = nullptr) {
  return Tokenizer::from_json(fixture("tokenizers/" + name + ".json"), config);
}

// Of a chat, with its special tokens.
inline Tokenizer tokenizer_of(const nlohmann::ordered_json& chat) {
  Json config = {{"eos_token", chat["eos_token"]}};
  if (!chat["bos_token"].is_null()) config["bos_token"] = chat["bos_token"];
  return from_json_fixture(chat["tokenizer"], config);
}

inline std::string template_source(const std::string& name) {
  return read_file("reference/text_templates/" + name + ".jinja");
}

inline Tokenizer from_gguf_file(const std::string& path) {
  const MappedFile file(path);
  return Tokenizer::from_gguf(parse_gguf(file.bytes(), path).metadata);
}

inline Tokenizer from_gguf_fixture(const std::string& name) {
  return from_gguf_file("reference/fixtures_text/tokenizers/" + name + ".gguf");
}

// One of llama.cpp's ggml-vocab-*.gguf.
inline std::string vocab_path(const std::string& name) {
  const char* folder = std::getenv("MLXFORGE_VOCABS");
  return std::string(folder ? folder : "MLXFORGE_VOCABS-is-not-set") + "/ggml-vocab-" + name +
         ".gguf";
}

inline Tokenizer load_vocab(const std::string& name) { return from_gguf_file(vocab_path(name)); }

using Ids = std::vector<int32_t>;

}  // namespace mlxforge::testing_text
