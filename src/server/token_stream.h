// A choice's tokens to the text that its client sees: whole characters, nothing of a stop string,
// nothing after one; and each token with its log-probability, at once, though its text be held
// back. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/answer_format.h"
#include "server/model_context.h"
#include "text/detokenizer.h"
#include "text/stop_strings.h"
#include "text/tool_parser.h"

namespace mlxforge {

class TokenStream {
 public:
  // `tools`: the format of the calls to find in the text; null: it is text throughout.
  TokenStream(std::shared_ptr<const ModelContext> model, std::vector<std::string> stops,
              const ToolFormat* tools = nullptr);

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

 private:
  ShownToken shown(int32_t id) const;
  std::string decode(int32_t id);
  void find_calls(Piece& piece, bool last);

  std::shared_ptr<const ModelContext> model_;  // owns the tokenizer
  Detokenizer detokenizer_;
  StopStrings stops_;
  std::optional<ToolParser> tools_;
  int32_t lead_id_ = -1;  // a special token that begins calls, and is shown to the parser
  int tokens_ = 0;
  size_t characters_ = 0;  // of all text so far, what is held back included
};

}  // namespace mlxforge
