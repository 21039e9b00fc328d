// How one endpoint writes its answer: as SSE events while it grows, or whole. One object per
// request, used by one thread at a time. Implemented in api/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/service.h"
#include "text/reasoning.h"
#include "text/tool_parser.h"

namespace mlxforge {

// A token as an answer shows it beside its log-probability.
struct ShownToken {
  int32_t id = -1;
  std::string name;              // its bytes in the vocabulary; also of special tokens
  std::string bytes;             // what it adds to the text
  std::optional<float> logprob;  // the first token of a prompt has none
};

struct ScoredToken {
  ShownToken token;
  int rank = 0;  // 1: the likeliest
  std::vector<ShownToken> top;
  size_t text_offset = 0;  // characters of the text before it
};

// What a text is made of beside the plain answer.
struct TextParts {
  const ToolFormat* tools = nullptr;        // calls in this format
  std::optional<ReasoningStage> reasoning;  // where in it the text begins
  bool exact = false;                       // the answer has a form: every byte of it is shown
};

// Part of an answer, or all of it.
struct Piece {
  std::string reasoning;
  std::string text;
  std::vector<ToolDelta> calls;
  std::vector<ScoredToken> tokens;  // where log-probabilities are wanted

  bool empty() const {
    return reasoning.empty() && text.empty() && calls.empty() && tokens.empty();
  }
  void append(Piece next);
  std::vector<ToolDelta> whole_calls() const;  // the deltas of each call joined
};

// stop: the model's end of turn, a stop string or token, the end of a grammar. length: max_tokens
// or the context.
enum class Ending { stop, length, tool_calls };
const char* ending_name(Ending ending);

// One of the answers to a prompt, when it has ended without an error.
struct Answer {
  Piece piece;
  Ending ending = Ending::stop;
  std::string stop_string;                           // the one that came; empty: none
  const std::vector<ScoredToken>* prompt = nullptr;  // where its log-probabilities are wanted
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;  // shown: neither the stop token nor what came after a stop string
  int cached_tokens = 0;      // of the prompt
  int reasoning_tokens = 0;   // of the completion, with the tags
};

struct Totals {
  Usage usage;
  Timings timings;
};

class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  // Bytes of SSE. Of each choice, by its index: first, piece any number of times, end; choices
  // interleave. The end of the last one comes with the totals.
  virtual std::string first(size_t index) = 0;
  virtual std::string piece(size_t index, const Piece& piece) = 0;
  // `stop_string`: the one that came; empty: none.
  virtual std::string end(size_t index, Ending ending, const std::string& stop_string,
                          const Totals* totals) = 0;
  virtual std::string failure(const Status& status) = 0;  // in place of what was still to come

  // The JSON body of an answer that was not streamed; choices in the order of their index.
  virtual std::string whole(std::span<const Answer> answers, const Totals& totals) = 0;
};

}  // namespace mlxforge
