#include "text/detokenizer.h"

#include <utility>

#include "base/utf8.h"

namespace mlxforge {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, Specials specials)
    : tokenizer_(&tokenizer), specials_(specials) {}

bool Detokenizer::shows(int32_t id) const {
  return specials_ == Specials::shown || !tokenizer_->is_special(id);
}

std::string Detokenizer::bytes(int32_t id) const {
  if (!shows(id)) return {};
  std::string bytes(tokenizer_->token_bytes(id));
  if (!at_start_) return bytes;
  if (tokenizer_->first_space() == FirstSpace::all_dropped) std::erase(bytes, ' ');
  if (tokenizer_->first_space() == FirstSpace::one_dropped && bytes.starts_with(' '))
    bytes.erase(0, 1);
  return bytes;
}

std::string Detokenizer::push(int32_t id) {
  std::string out;
  decode_utf8(pending_, bytes(id), out);
  if (shows(id) && !tokenizer_->token_bytes(id).empty()) at_start_ = false;
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
