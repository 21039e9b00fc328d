#include "server/token_stream.h"

namespace mlxforge {

std::string TokenStream::push(std::span<const int32_t> tokens, bool last) {
  std::string text;
  for (const int32_t id : tokens) {
    if (matched()) return text;
    text += stops_.push(detokenizer_.push(id));
    ++tokens_;
  }
  if (last && !matched()) {
    text += stops_.push(detokenizer_.flush());
    text += stops_.flush();
  }
  return text;
}

}  // namespace mlxforge
