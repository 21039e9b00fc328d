// How the tokens of a vocabulary spell the tags of reasoning. Constant: any thread may use it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "text/reasoning.h"

namespace mlxforge {

class ReasoningTokens {
 public:
  explicit ReasoningTokens(std::shared_ptr<const Tokenizer> tokenizer);

  std::string text(int32_t id) const { return tagged_text(id, *tokenizer_); }
  int32_t vocab_size() const { return tokenizer_->vocab_size(); }

  // Those that may come where `matched` bytes of <think> have.
  const std::vector<int32_t>& openers(size_t matched) const { return openers_[matched]; }
  // Those that complete </think>, of which `matched` bytes have come, and go on behind it.
  const std::vector<int32_t>& overshoots(size_t matched) const { return overshoots_[matched]; }
  // What ends reasoning that is cut short.
  const std::vector<int32_t>& ending() const { return ending_; }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  // By the number of bytes matched.
  std::array<std::vector<int32_t>, kThinkBegin.size()> openers_;
  std::array<std::vector<int32_t>, kThinkEnd.size()> overshoots_;
  std::vector<int32_t> ending_;
};

}  // namespace mlxforge
