#include "text/reasoning_tokens.h"

#include <utility>

namespace mlxforge {
namespace {

bool continues_opening(std::string_view text, size_t matched) {
  ReasoningScanner scanner(ReasoningStage::before);
  scanner.push(kThinkBegin.substr(0, matched));
  scanner.push(text);
  return scanner.stage() == ReasoningStage::inside ||
         (scanner.stage() == ReasoningStage::before && scanner.matched() > matched);
}

bool goes_past_end(std::string_view text, size_t matched) {
  ReasoningScanner scanner(ReasoningStage::inside);
  scanner.push(kThinkEnd.substr(0, matched));
  scanner.push(text.substr(0, text.size() - 1));
  return scanner.stage() == ReasoningStage::after;
}

}  // namespace

ReasoningTokens::ReasoningTokens(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)),
      ending_(tokenizer_->encode("\n" + std::string(kThinkEnd), {.parse_special = true})) {
  for (int32_t id = 0; id < vocab_size(); ++id) {
    const std::string text = this->text(id);
    if (text.empty()) continue;
    for (size_t n = 0; n < openers_.size(); ++n)
      if (continues_opening(text, n)) openers_[n].push_back(id);
    for (size_t n = 0; n < overshoots_.size(); ++n)
      if (goes_past_end(text, n)) overshoots_[n].push_back(id);
  }
}

}  // namespace mlxforge
