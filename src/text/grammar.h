// Answers that follow a grammar, by llguidance: a JSON schema, a regular expression or a Lark
// grammar is compiled for a tokenizer; a Constraint then says, token by token, which ids may come
// next.
//
// GrammarCompiler and Grammar are constant: any thread may call. A Constraint belongs to one
// thread; it computes in the background, on threads that the compiler owns.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace mlxforge {

struct GrammarSource {
  // choice: one of the strings in a JSON list.
  enum class Kind { json_schema, regex, choice, lark };
  Kind kind = Kind::json_schema;
  std::string text;
  bool blanks = true;  // of a JSON schema: white space between its tokens, up to 24 characters

  std::vector<GrammarSource> parts;  // that a Lark grammar refers to, as @name
  std::string name = "answer";
  std::string label;             // what a failure in it begins with
  bool begins_with_text = true;  // else it says itself where the space that decoding drops stands
};

// Bit id % 32 of word id / 32: whether the token may come next. As long as the tokenizer's
// vocabulary; a token that ends an answer is in it where the grammar may end.
using TokenMask = std::vector<uint32_t>;

// One choice's way through a grammar.
class Constraint {
 public:
  ~Constraint();
  // Of the next token; waits while it is being computed. A failure: the grammar has become too
  // complex to follow, or no token fits.
  const Result<TokenMask>& mask();
  // The next token is `id`, which its mask has, else the mask after it is a failure. That mask is
  // computed from now on.
  void accept(int32_t id);
  // The text is complete and nothing can follow.
  bool ended() const { return ended_; }

 private:
  friend class Grammar;
  struct State;
  Constraint(std::shared_ptr<State> state, TokenMask first);

  std::shared_ptr<State> state_;
  std::future<Result<TokenMask>> next_;  // valid: mask_ is that of the token before
  Result<TokenMask> mask_;
  bool ended_ = false;
};

class Grammar {
 public:
  ~Grammar();
  std::unique_ptr<Constraint> start() const;

 private:
  friend class GrammarCompiler;
  struct Impl;
  explicit Grammar(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Outlives its grammars and their constraints.
class GrammarCompiler {
 public:
  // Tokens of `end_ids` end an answer: they are allowed where the grammar may end.
  GrammarCompiler(std::shared_ptr<const Tokenizer> tokenizer, std::vector<int32_t> end_ids);
  ~GrammarCompiler();

  // A failure's message says what cannot be held in every answer: a keyword, a pattern, a syntax, a
  // size; or that no text fits.
  Result<std::shared_ptr<const Grammar>> compile(const GrammarSource& source) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlxforge
