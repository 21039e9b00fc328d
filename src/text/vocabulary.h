// What a model's files say about its tokenizer, read for the two ways of making one: as the Rust
// side takes it, and which tokens play which role.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/gguf.h"
#include "files/json.h"
#include "rust/bridge.h"

namespace mlxforge {

struct TokenRoles {
  std::map<std::string, std::string> names;  // "bos_token" -> its text
  std::optional<int32_t> bos, eos;
  std::vector<int32_t> stop_ids;        // all that end a turn
  std::vector<int32_t> prefix, suffix;  // what add_special puts around a text
};

// `config` is tokenizer_config.json, an object. The tokens that it adds to tokenizer.json's:
std::vector<rs::DeclaredToken> declared_tokens(const Json& config);
// tokenizer.json's post-processor says what stands around a text; add_bos_token and add_eos_token
// overrule it where the config has them.
TokenRoles roles_of(const Json& config, const rs::Tokenizer& tokenizer);

rs::GgufVocab gguf_vocab(const GgufMetadata& metadata);
// Absent flags mean what they mean to the converters that leave them out: BOS for SentencePiece and
// Llama 3, none for others, never EOS.
TokenRoles roles_of(const GgufMetadata& metadata, const rs::Tokenizer& tokenizer,
                    int32_t vocab_size);

}  // namespace mlxforge
