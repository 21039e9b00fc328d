// The grammar of an answer that may call tools: names and arguments as their schemas say, written
// in a model's format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/grammar.h"
#include "text/tool_format.h"

namespace mlxforge {

struct ToolFunction {
  std::string name;        // letters, digits, - and _
  std::string parameters;  // the schema of its arguments, an object's
  std::string label;       // what a failure calls it
};

struct ToolGrammar {
  const ToolFormat* format = nullptr;
  std::vector<ToolFunction> functions;  // those that may be called; not empty
  bool must_call = false;               // else the answer may be text
  bool several = true;                  // more than one call
  std::optional<GrammarSource> text;    // the form of an answer without calls
};

GrammarSource tool_grammar(const ToolGrammar& tools, const Tokenizer& tokenizer);

}  // namespace mlxforge
