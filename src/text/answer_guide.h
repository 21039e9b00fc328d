// Which tokens may come next in one answer: reasoning first, where the model reasons, which a
// budget may end; then what a grammar allows. The reasoning follows no grammar, and the answer
// follows it from its first byte. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "text/grammar.h"
#include "text/reasoning_tokens.h"

namespace mlxforge {

struct ReasoningRules {
  std::shared_ptr<const ReasoningTokens> tokens;  // null: the model does not reason
  ReasoningStage stage = ReasoningStage::before;  // where the answer begins
  std::optional<int> budget;  // so many tokens behind <think> come </think>; none: no limit
};

class AnswerGuide {
 public:
  AnswerGuide() = default;  // anything may come
  // `grammar` may be null: the answer is free.
  AnswerGuide(std::shared_ptr<const Grammar> grammar, ReasoningRules reasoning);

  // The mask of the next token; empty: any may come. Waits for the grammar's. Valid until accept.
  Result<std::span<const uint32_t>> allowed();
  // Tokens that are not to come though the mask has them.
  std::span<const int32_t> banned() const;
  // The next token is `id`, which is allowed.
  void accept(int32_t id);

  bool has_grammar() const { return grammar_ != nullptr; }
  // The grammar's text is complete and nothing can follow.
  bool ended() const { return constraint_ && constraint_->ended(); }
  // The answer may not end here: what the grammar asks for has not begun.
  bool answer_due() const { return grammar_ && stage() == ReasoningStage::inside; }
  // Only one token may come.
  bool forced() const { return !ending_.empty(); }

 private:
  ReasoningStage stage() const { return scanner_.stage(); }
  void follow_grammar(int32_t id);
  void end_reasoning_if_due();
  void add_to_mask(std::span<const int32_t> ids);

  std::shared_ptr<const Grammar> grammar_;
  ReasoningRules reasoning_;
  ReasoningScanner scanner_{ReasoningStage::after};
  std::unique_ptr<Constraint> constraint_;  // null: no grammar, or what has come is no answer
  std::vector<int32_t> ending_;             // tokens that must come, the next one last
  int n_reasoned_ = 0;                      // tokens behind <think>
  std::string cut_;                         // an unfinished character of the reasoning
  TokenMask mask_;                          // where it is not the constraint's own
};

}  // namespace mlxforge
