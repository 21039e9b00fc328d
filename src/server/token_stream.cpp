#include "server/token_stream.h"

#include <algorithm>

namespace mlxforge {

namespace {

template <class T>
void append_all(std::vector<T>& to, std::vector<T> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void Piece::append(Piece next) {
  reasoning += next.reasoning;
  text += next.text;
  append_all(calls, std::move(next.calls));
  append_all(tokens, std::move(next.tokens));
}

std::vector<ToolDelta> Piece::whole_calls() const {
  std::vector<ToolDelta> out;
  for (const ToolDelta& delta : calls) {
    if (!delta.name.empty()) out.push_back({.index = delta.index, .name = delta.name});
    out.back().arguments += delta.arguments;
  }
  return out;
}

TokenStream::TokenStream(std::shared_ptr<const ModelContext> model, std::vector<std::string> stops,
                         const TextParts& parts)
    : model_(std::move(model)), detokenizer_(*model_->tokenizer), stops_(std::move(stops)) {
  if (parts.reasoning) {
    reasoning_.emplace(*parts.reasoning, /*trims=*/!parts.exact);
    show_as_text(kThinkBegin);
    show_as_text(kThinkEnd);
  }
  if (parts.tools) {
    tools_.emplace(*parts.tools);
    for (const auto text : {parts.tools->lead, parts.tools->middle, parts.tools->between})
      show_as_text(text);
  }
}

void TokenStream::show_as_text(std::string_view token) {
  const auto id = model_->tokenizer->token_to_id(token);
  if (id && model_->tokenizer->is_special(*id)) shown_ids_.push_back(*id);
}

ShownToken TokenStream::shown(int32_t id) const {
  return {.id = id,
          .name = std::string(model_->tokenizer->token_bytes(id)),
          .bytes = detokenizer_.bytes(id)};
}

ScoredToken TokenStream::scored(const TokenLogprobs& token) const {
  const auto with_logprob = [&](const TokenLogprob& t) {
    ShownToken out = shown(t.id);
    out.logprob = t.logprob;
    return out;
  };
  ScoredToken out{
      .token = with_logprob(token.token), .rank = token.rank, .text_offset = characters_};
  for (const TokenLogprob& t : token.top) out.top.push_back(with_logprob(t));
  return out;
}

std::string TokenStream::decode(int32_t id) {
  const bool by_name = std::ranges::find(shown_ids_, id) != shown_ids_.end();
  std::string text =
      by_name ? detokenizer_.flush() + model_->tokenizer->id_to_token(id) : detokenizer_.push(id);
  characters_ += std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
  return text;
}

Piece TokenStream::echo(std::span<const int32_t> prompt, const std::vector<TokenLogprobs>* scores) {
  Piece piece;
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (scores && i == 0) piece.tokens.push_back({.token = shown(prompt[0])});
    if (scores && i > 0) piece.tokens.push_back(scored(scores->at(i - 1)));
    piece.text += decode(prompt[i]);
  }
  return piece;
}

Piece TokenStream::push(std::span<const int32_t> tokens, std::span<const TokenLogprobs> scores,
                        bool last) {
  Piece piece;
  for (size_t i = 0; i < tokens.size() && !matched(); ++i) {
    if (!scores.empty()) piece.tokens.push_back(scored(scores[i]));
    ++tokens_;
    add_text(decode(tokens[i]), piece);
  }
  if (last) flush(piece);
  return piece;
}

void TokenStream::add_text(std::string_view text, Piece& piece) {
  if (!reasoning_) return add_answer(stops_.push(text), piece);
  const auto answers = [&] { return reasoning_->stage() == ReasoningStage::after; };
  const bool answered = answers();
  const ReasonedText parts = reasoning_->push(text);
  piece.reasoning += parts.reasoning;
  add_answer(stops_.push(parts.answer), piece);
  if (answered || !reasoning_->begun()) return;
  reasoning_tokens_ = tokens_;
  if (answers()) detokenizer_.begin_text();
}

void TokenStream::add_answer(std::string_view text, Piece& piece) {
  if (!tools_) {
    piece.text += text;
    return;
  }
  ParsedText parsed = tools_->push(text);
  piece.text += parsed.content;
  append_all(piece.calls, std::move(parsed.calls));
}

// What was held back, in the order in which it came.
void TokenStream::flush(Piece& piece) {
  add_text(detokenizer_.flush(), piece);
  if (reasoning_) {
    const ReasonedText rest = reasoning_->flush();
    piece.reasoning += rest.reasoning;
    add_answer(stops_.push(rest.answer), piece);
  }
  add_answer(stops_.flush(), piece);
  if (tools_) piece.text += tools_->flush().content;
}

}  // namespace mlxforge
