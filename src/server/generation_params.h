// What a request for text asks for, as parsed, and the type of its fields.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/service.h"
#include "server/chat_params.h"
#include "text/grammar.h"
#include "text/reasoning.h"
#include "text/tool_format.h"

namespace mlxforge {

// Which functions a chat's answer may call: tools.h.
struct ToolParams {
  enum class Choice { automatic, none, required, named };
  OrderedJson list = OrderedJson::array();
  Choice choice = Choice::automatic;
  std::string named;
  bool several = true;                 // more than one call
  const ToolFormat* format = nullptr;  // of the answer's calls; null: it has none
};

// How the model may reason before it answers: reasoning_fields.h.
struct ReasoningParams {
  std::optional<int> budget;  // tokens
  std::string effort;         // as OpenAI names it; empty: none given
  // Where these came from.
  const char *budget_field = "reasoning_budget", *effort_field = "reasoning_effort";
  // Where the answer begins; none: reasoning is not told from it.
  std::optional<ReasoningStage> stage;
  bool exact = false;  // the answer behind it has a form
};

// What /v1/responses alone has: api/responses.cpp.
struct ResponseParams {
  OrderedJson input;
  std::string instructions;
  std::string previous_id;
  bool store = true;
  OrderedJson metadata = OrderedJson::object();
  OrderedJson text = {{"format", {{"type", "text"}}}};  // these three as they were sent
  OrderedJson tools = OrderedJson::array();
  OrderedJson tool_choice = "auto";
  OrderedJson conversation;  // messages so far, without instructions
};

// Absent optionals mean the model's defaults.
struct GenerationParams : ChatParams {
  bool stream = false;
  bool include_usage = false;

  std::optional<double> temperature, top_p, min_p;
  std::optional<int> top_k;
  std::optional<uint64_t> seed;

  std::optional<int> max_tokens, max_completion_tokens;
  int token_limit() const {  // without one, the context is the limit
    return max_completion_tokens.value_or(max_tokens.value_or(std::numeric_limits<int>::max()));
  }
  SamplingParams sampling;  // sampling_fields.h; the rest is filled in by plan_generation
  std::optional<std::vector<std::string>> dry_breakers;
  int min_tokens = 0;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_ids;
  bool ignore_eos = false;
  int priority = 0;

  int n = 1;
  std::optional<int> best_of;
  int n_answers() const { return best_of.value_or(n); }  // made, though perhaps not returned
  bool echo = false;
  std::optional<int> logprobs;  // how many likeliest tokens to name; none: no log-probabilities
  std::optional<int> prompt_logprobs;
  bool chat_logprobs = false;  // chat says the same in two fields; these become `logprobs`
  std::optional<int> top_logprobs;

  ToolParams tools;
  ReasoningParams reasoning;
  OrderedJson system;         // of /v1/messages, which checks it
  ResponseParams response;    // of /v1/responses
  GrammarSource grammar;      // structured_output.h; empty text: none
  std::string grammar_field;  // where it came from

  OrderedJson prompt;  // of completions, which check it
  std::string suffix;  // the answer goes between the prompt and this
};

using Field = FieldOf<GenerationParams>;

// A feature to come: `only` asks for nothing and passes, any other value is refused.
constexpr Field later(const char* name, FieldType type, const char* only, double min = -kUnbounded,
                      double max = kUnbounded) {
  return {.name = name, .type = type, .min = min, .max = max, .only = only};
}

}  // namespace mlxforge
