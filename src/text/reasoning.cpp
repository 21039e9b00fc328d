#include "text/reasoning.h"

#include <algorithm>

namespace mlxforge {
namespace {

using enum ReasoningStage;

constexpr std::string_view kBlanks = " \n\r\t";
bool is_blank(char c) { return kBlanks.find(c) != kBlanks.npos; }

}  // namespace

std::string tagged_text(int32_t id, const Tokenizer& tokenizer) {
  if (!tokenizer.is_special(id)) return std::string(tokenizer.token_bytes(id));
  std::string name = tokenizer.id_to_token(id);
  return name == kThinkBegin || name == kThinkEnd ? name : std::string();
}

ReasoningStage stage_behind(std::span<const int32_t> prompt, const Tokenizer& tokenizer) {
  std::string end;
  for (size_t i = prompt.size(); i > 0 && end.size() < 2 * kThinkEnd.size(); --i)
    end.insert(0, tagged_text(prompt[i - 1], tokenizer));
  while (!end.empty() && is_blank(end.back())) end.pop_back();
  return end.ends_with(kThinkBegin) ? inside : end.ends_with(kThinkEnd) ? after : before;
}

// Neither tag begins with a later part of itself, so a mismatch starts over.
void ReasoningScanner::step(char c) {
  if (stage_ == after || (stage_ == before && matched_ == 0 && is_blank(c))) return;
  const std::string_view tag = stage_ == before ? kThinkBegin : kThinkEnd;
  if (c == tag[matched_]) {
    if (++matched_ < tag.size()) return;
    stage_ = stage_ == before ? inside : after;
  } else if (stage_ == before) {
    stage_ = after;
  } else if (c == tag[0]) {
    matched_ = 1;
    return;
  }
  matched_ = 0;
}

ReasonedText ReasoningSplitter::push(std::string_view text) {
  ReasonedText out;
  for (const char c : text) {
    const ReasoningStage was = stage();
    scanner_.step(c);
    if (was == after) {
      push_answer(c, out);
    } else {
      held_ += c;
      if (stage() != was) leave(was, out);
    }
  }
  if (stage() == inside) show_reasoning(held_.size() - scanner_.matched(), out);
  return out;
}

void ReasoningSplitter::leave(ReasoningStage was, ReasonedText& out) {
  if (stage() == inside) begun_ = true;
  if (was == inside) show_reasoning(held_.size() - kThinkEnd.size(), out);
  if (was == before && stage() == after)
    out.answer += held_;
  else
    at_start_ = true;
  held_.clear();
}

void ReasoningSplitter::push_answer(char c, ReasonedText& out) {
  if (trims_ && at_start_ && c == '\n') return;
  at_start_ = false;
  out.answer += c;
}

// Of what is held the first n bytes, but for blanks at their end, behind which more may come.
void ReasoningSplitter::show_reasoning(size_t n, ReasonedText& out) {
  const std::string_view text = std::string_view(held_).substr(0, n);
  const size_t begin = at_start_ ? std::min(text.find_first_not_of(kBlanks), n) : 0;
  const size_t end = std::max(begin, text.find_last_not_of(kBlanks) + 1);
  out.reasoning += text.substr(begin, end - begin);
  if (end > begin) at_start_ = false;
  held_.erase(0, end);
}

ReasonedText ReasoningSplitter::flush() {
  ReasonedText out;
  if (stage() == inside)
    show_reasoning(held_.size(), out);
  else
    out.answer = held_;
  held_.clear();
  return out;
}

}  // namespace mlxforge
