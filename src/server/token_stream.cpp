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
                         const ToolFormat* tools)
    : model_(std::move(model)), detokenizer_(*model_->tokenizer), stops_(std::move(stops)) {
  if (!tools) return;
  tools_.emplace(*tools);
  const auto lead = model_->tokenizer->token_to_id(tools->lead);
  if (lead && model_->tokenizer->is_special(*lead)) lead_id_ = *lead;
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
  std::string text = id == lead_id_ ? detokenizer_.flush() + model_->tokenizer->id_to_token(id)
                                    : detokenizer_.push(id);
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
    piece.text += stops_.push(decode(tokens[i]));
    ++tokens_;
  }
  if (last && !matched()) {
    piece.text += stops_.push(detokenizer_.flush());
    piece.text += stops_.flush();
  }
  find_calls(piece, last);
  return piece;
}

void TokenStream::find_calls(Piece& piece, bool last) {
  if (!tools_) return;
  ParsedText parsed = tools_->push(piece.text);
  piece.text = std::move(parsed.content);
  piece.calls = std::move(parsed.calls);
  if (last) piece.text += tools_->flush().content;
}

}  // namespace mlxforge
