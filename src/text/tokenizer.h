// Text to token ids and back, by Hugging Face's `tokenizers`. Made from a tokenizer.json, or from
// the metadata of a GGUF file, which gives the same pipeline and the same ids.
//
// Two kinds of added token: *special* ones (control tokens: GGUF type 3, "special": true) direct
// the model and are invisible in its answers; the others (GGUF type 4) are ordinary text that
// happens to be one token. Text from a caller never becomes a special token unless parse_special
// says so.
//
// Threads: const methods may be called from any thread. Text is UTF-8; bytes that are not become
// U+FFFD.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel_flag.h"
#include "files/gguf.h"
#include "files/json.h"
#include "files/model_folder.h"

namespace mlxforge {

struct EncodeOptions {
  bool add_special = false;    // BOS / EOS as the tokenizer's own rule says
  bool parse_special = false;  // special tokens written in the text become those tokens
  const CancelFlag& cancel = kNeverCancelled;
};

// What the first token of a decoded text loses: a SentencePiece's dummy prefix.
enum class FirstSpace { kept, one_dropped, all_dropped };

// A special token written in a text: bytes [begin, end), spaces that it swallows included.
struct SpecialSpan {
  size_t begin = 0;
  size_t end = 0;
  int32_t id = 0;
};

class Tokenizer {
 public:
  // The model's tokenizer.json, or its GGUF metadata. Throws Error when it has neither.
  static Tokenizer of(const ModelFiles& files);
  // `config` is tokenizer_config.json, or null. Throws Error for a file that cannot be used, among
  // them one whose decoder is neither byte-level nor SentencePiece-like.
  static Tokenizer from_json(std::string_view tokenizer_json, const Json& config = nullptr);
  // tokenizer.ggml.model gpt2 (byte-level BPE; tokenizer.ggml.pre names its pre-tokenizer) or llama
  // (SentencePiece BPE from scores). Throws Error naming the value and the known ones for another
  // model or pre, and saying what is missing where an array is.
  static Tokenizer from_gguf(const GgufMetadata& metadata);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;
  // `text` with exactly `specials` (ascending, not overlapping) as special tokens and everything
  // between them as plain text. No BOS or EOS is added. Once `cancel` is set the rest of the text
  // is skipped, and the ids mean nothing. It is looked at between words; a tokenizer that does not
  // split a text into words before it merges (SentencePiece) takes the text in one go.
  std::vector<int32_t> encode(std::string_view text, std::span<const SpecialSpan> specials,
                              const CancelFlag& cancel = kNeverCancelled) const;
  // The special tokens that encode(text, {.parse_special = true}) finds.
  std::vector<SpecialSpan> find_specials(std::string_view text) const;
  // One-shot decoding without special tokens; the same text that a Detokenizer streams.
  std::string decode(std::span<const int32_t> ids) const;

  // Highest id + 1, added tokens counted.
  int32_t vocab_size() const;
  // A number of tokens that the text has at least, from its bytes alone and without encoding it.
  size_t fewest_tokens(std::string_view text) const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  std::string id_to_token(int32_t id) const;  // as in the vocabulary ("Ġthe"); empty for no token
  // The bytes that a token stands for in text, half characters included; empty for no token.
  std::string_view token_bytes(int32_t id) const;
  bool is_special(int32_t id) const;
  FirstSpace first_space() const;

  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  // Every id that ends a turn as far as the tokenizer knows: EOS, and a GGUF's EOT and EOM.
  const std::vector<int32_t>& stop_ids() const;
  bool adds_bos() const;  // the tokenizer's own rule: a text starts with BOS
  // "bos_token", "eos_token", "pad_token", ... -> their text, as chat templates know them.
  const std::map<std::string, std::string>& special_names() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlxforge
