// The reasoning that <think>-style models put before their answer, between <think> and </think>:
// where a text stands in it, and what of a text it is.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace mlxforge {

inline constexpr std::string_view kThinkBegin = "<think>", kThinkEnd = "</think>";

// before: reasoning may still begin. after: all that comes is the answer.
enum class ReasoningStage { before, inside, after };

// What a token adds to the text in which the tags are looked for. Of special tokens only the tags
// themselves are in it.
std::string tagged_text(int32_t id, const Tokenizer& tokenizer);

// Where the text behind this prompt begins: the prompt may end with a tag.
ReasoningStage stage_behind(std::span<const int32_t> prompt, const Tokenizer& tokenizer);

// Follows a text byte by byte. Blanks may come before <think>, nothing else.
class ReasoningScanner {
 public:
  explicit ReasoningScanner(ReasoningStage stage) : stage_(stage) {}

  void step(char c);
  void push(std::string_view text) {
    for (const char c : text) step(c);
  }
  ReasoningStage stage() const { return stage_; }
  // With so many bytes of the tag that comes next the text ends.
  size_t matched() const { return matched_; }

 private:
  ReasoningStage stage_;
  size_t matched_ = 0;
};

struct ReasonedText {
  std::string reasoning;  // without the blanks around it
  std::string answer;
};

// Takes a growing text apart; only what may be part of a tag, or of the blanks around the
// reasoning, is held back. One thread at a time.
class ReasoningSplitter {
 public:
  // `trims`: newlines between reasoning and answer are dropped, else they are the answer's.
  ReasoningSplitter(ReasoningStage stage, bool trims)
      : scanner_(stage),
        trims_(trims),
        at_start_(stage == ReasoningStage::inside),
        begun_(at_start_) {}

  ReasonedText push(std::string_view text);
  ReasonedText flush();  // at the end: what was held back
  ReasoningStage stage() const { return scanner_.stage(); }
  bool begun() const { return begun_; }  // some reasoning has

 private:
  void leave(ReasoningStage was, ReasonedText& out);
  void show_reasoning(size_t n, ReasonedText& out);
  void push_answer(char c, ReasonedText& out);

  ReasoningScanner scanner_;
  bool trims_;
  bool at_start_;  // of the reasoning, or of the answer behind it: blanks, or newlines, are not
                   // shown
  bool begun_;
  std::string held_;
};

}  // namespace mlxforge
