// Token ids to text, one at a time. The pieces concatenate to Tokenizer::decode of all ids; no
// piece ends inside a character, and bytes that can no longer become one are shown as U+FFFD at
// once, one for each maximal invalid run (as Python's errors="replace"). Special tokens give no
// text unless they are asked for. O(bytes of the token) a token, whatever came before. Refers to
// the tokenizer. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace mlxforge {

class Detokenizer {
 public:
  enum class Specials { hidden, shown };
  explicit Detokenizer(const Tokenizer& tokenizer, Specials specials = Specials::hidden);

  // What this token would add as the next one, in bytes: those of all tokens joined are the text,
  // but for bytes that are no UTF-8. Empty for a special token that is not
  // shown.
  std::string bytes(int32_t id) const;
  // The text that this token completes; may be empty. An id that is no token gives none.
  std::string push(int32_t id);
  // The next token is decoded as the first one of a text.
  void begin_text() { at_start_ = true; }
  // At the end: U+FFFD if a character was cut, else nothing.
  std::string flush();

 private:
  bool shows(int32_t id) const;

  const Tokenizer* tokenizer_;
  Specials specials_;
  std::string pending_;  // an unfinished, still valid UTF-8 prefix: at most 3 bytes
  bool at_start_ = true;
};

}  // namespace mlxforge
