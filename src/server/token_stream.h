// A request's tokens to the text that its client sees: whole characters, nothing of a stop string,
// nothing after one. One thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/model_context.h"
#include "text/detokenizer.h"
#include "text/stop_strings.h"

namespace mlxforge {

class TokenStream {
 public:
  TokenStream(std::shared_ptr<const ModelContext> model, std::vector<std::string> stops)
      : model_(std::move(model)), detokenizer_(*model_->tokenizer), stops_(std::move(stops)) {}

  // The text that may now be shown. `last`: what was held back comes too.
  std::string push(std::span<const int32_t> tokens, bool last);

  bool matched() const { return stops_.matched(); }  // a stop string has ended the text
  int tokens() const { return tokens_; }  // up to and with the one that completed the stop string

 private:
  std::shared_ptr<const ModelContext> model_;  // owns the tokenizer
  Detokenizer detokenizer_;
  StopStrings stops_;
  int tokens_ = 0;
};

}  // namespace mlxforge
