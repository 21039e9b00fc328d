#include "text/sequence_breakers.h"

#include <algorithm>

#include "base/check.h"

namespace mlxforge {

SequenceBreakers::SequenceBreakers(std::shared_ptr<const Tokenizer> tokenizer,
                                   std::vector<std::string> strings)
    : tokenizer_(std::move(tokenizer)), strings_(std::move(strings)) {
  for (const std::string& s : strings_) {
    check(!s.empty(), "an empty sequence breaker");
    longest_ = std::max(longest_, s.size());
  }
}

size_t SequenceBreakers::tokens_since(std::span<const int32_t> tokens) const {
  size_t n = tokens.size();
  while (n > 0 && !ends_in_last(tokens.first(n))) --n;
  return tokens.size() - n;
}

bool SequenceBreakers::ends_in_last(std::span<const int32_t> tokens) const {
  const size_t n_last = tokenizer_->token_bytes(tokens.back()).size();
  std::string text;  // of the last tokens, as far back as a breaker may begin
  for (size_t i = tokens.size(); i > 0 && text.size() < n_last + longest_ - 1; --i)
    text.insert(0, tokenizer_->token_bytes(tokens[i - 1]));
  const size_t before = text.size() - n_last;
  return std::ranges::any_of(strings_, [&](const std::string& s) {
    return text.find(s, before - std::min(before, s.size() - 1)) != text.npos;
  });
}

}  // namespace mlxforge
