#include "text/answer_guide.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace mlxforge {
namespace {

using enum ReasoningStage;

// A character has at most 4 bytes; one that does not end is not waited for any longer.
constexpr int kMostMissing = 3;

bool has(const TokenMask& mask, int32_t id) { return mask[id / 32] >> id % 32 & 1; }

}  // namespace

AnswerGuide::AnswerGuide(std::shared_ptr<const Grammar> grammar, ReasoningRules reasoning)
    : grammar_(std::move(grammar)), reasoning_(std::move(reasoning)) {
  if (reasoning_.tokens) scanner_ = ReasoningScanner(reasoning_.stage);
  if (grammar_ && stage() != inside) constraint_ = grammar_->start();
  end_reasoning_if_due();
}

Result<std::span<const uint32_t>> AnswerGuide::allowed() {
  mask_.clear();
  if (forced()) {
    add_to_mask({&ending_.back(), 1});
  } else if (constraint_) {
    const auto& mask = constraint_->mask();
    if (!mask.ok()) return mask.status();
    if (stage() == after) return std::span<const uint32_t>(mask.value());
    mask_ = mask.value();
  }
  if (grammar_ && stage() == before) add_to_mask(reasoning_.tokens->openers(scanner_.matched()));
  return std::span<const uint32_t>(mask_);
}

std::span<const int32_t> AnswerGuide::banned() const {
  if (!answer_due()) return {};
  return reasoning_.tokens->overshoots(scanner_.matched());
}

void AnswerGuide::accept(int32_t id) {
  if (forced()) ending_.pop_back();
  const ReasoningStage was = stage();
  if (constraint_) follow_grammar(id);
  if (was == after) return;
  const std::string text = reasoning_.tokens->text(id);
  scanner_.push(text);
  if (was == inside) {
    ++n_reasoned_;
    std::string ignored;
    decode_utf8(cut_, text, ignored);
    if (stage() == after && grammar_) constraint_ = grammar_->start();
  } else if (stage() == inside) {
    constraint_.reset();
  } else if (grammar_ && text.empty()) {
    scanner_ = ReasoningScanner(after);  // another special token: a tool call's
  }
  end_reasoning_if_due();
}

// The beginning of <think> need not be one of the answer.
void AnswerGuide::follow_grammar(int32_t id) {
  const auto& mask = constraint_->mask();
  if (stage() == before && mask.ok() && !has(mask.value(), id))
    constraint_.reset();
  else
    constraint_->accept(id);
}

// Never inside a character.
void AnswerGuide::end_reasoning_if_due() {
  if (stage() != inside || forced() || !reasoning_.budget) return;
  const int over = n_reasoned_ - *reasoning_.budget;
  if (over < 0 || (!cut_.empty() && over < kMostMissing)) return;
  ending_ = reasoning_.tokens->ending();
  std::ranges::reverse(ending_);
}

void AnswerGuide::add_to_mask(std::span<const int32_t> ids) {
  mask_.resize((reasoning_.tokens->vocab_size() + 31) / 32);
  for (const int32_t id : ids) mask_[id / 32] |= uint32_t{1} << id % 32;
}

}  // namespace mlxforge
