#include "text/detokenizer.h"

#include <utility>

#include "text/utf8.h"

namespace mlxforge {

Detokenizer::Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

std::string Detokenizer::push(int32_t id) {
  const std::string_view bytes = tokenizer_->token_bytes(id);
  if (bytes.empty() || tokenizer_->is_special(id)) return {};
  std::string out;
  const bool first = std::exchange(at_start_, false);
  if (first && tokenizer_->first_space() == FirstSpace::all_dropped) {
    std::string kept(bytes);
    std::erase(kept, ' ');
    decode_utf8(pending_, kept, out);
  } else if (first && tokenizer_->first_space() == FirstSpace::one_dropped && bytes[0] == ' ') {
    decode_utf8(pending_, bytes.substr(1), out);
  } else {
    decode_utf8(pending_, bytes, out);
  }
  return out;
}

std::string Detokenizer::flush() {
  return std::exchange(pending_, {}).empty() ? std::string() : std::string(kReplacement);
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  Detokenizer detokenizer(*this);
  std::string out;
  for (const int32_t id : ids) out += detokenizer.push(id);
  return out + detokenizer.flush();
}

}  // namespace mlxforge
