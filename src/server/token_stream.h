// A choice's tokens to the text that its client sees: whole characters; reasoning, calls and the
// rest told apart; of what is no reasoning nothing of a stop string and nothing after one. And each
// token with its log-probability, at once, though its text be held back. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/answer_format.h"
#include "server/model_context.h"
#include "text/detokenizer.h"
#include "text/reasoning.h"
#include "text/stop_strings.h"
#include "text/tool_parser.h"

namespace mlxforge {

class TokenStream {
 public:
  TokenStream(std::shared_ptr<const ModelContext> model, std::vector<std::string> stops,
              const TextParts& parts = {});

  // The prompt as the beginning of the text, before any push. `scores`, of its tokens from the
  // second on, may be null.
  Piece echo(std::span<const int32_t> prompt, const std::vector<TokenLogprobs>* scores);
  // What may now be shown. `last`: what was held back comes too.
  Piece push(std::span<const int32_t> tokens, std::span<const TokenLogprobs> scores, bool last);
  // A token that is not part of the text: the one that stopped it.
  ScoredToken scored(const TokenLogprobs& token) const;

  bool matched() const { return stops_.matched(); }            // a stop string has ended the text
  const std::string& match() const { return stops_.match(); }  // which
  bool calls_tools() const { return tools_ && tools_->n_calls() > 0; }
  int tokens() const { return tokens_; }  // up to and with the one that completed the stop string
  int reasoning_tokens() const { return reasoning_tokens_; }  // of these

 private:
  ShownToken shown(int32_t id) const;
  std::string decode(int32_t id);
  void show_as_text(std::string_view token);
  void add_text(std::string_view text, Piece& piece);
  void add_answer(std::string_view text, Piece& piece);
  void flush(Piece& piece);

  std::shared_ptr<const ModelContext> model_;  // owns the tokenizer
  Detokenizer detokenizer_;
  std::optional<ReasoningSplitter> reasoning_;
  StopStrings stops_;
  std::optional<ToolParser> tools_;
  std::vector<int32_t> shown_ids_;  // special tokens that these look for in the text
  int tokens_ = 0, reasoning_tokens_ = 0;
  size_t characters_ = 0;  // of all text so far, what is held back included
};

}  // namespace mlxforge
