#include "text/tool_grammar.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace mlxforge {
namespace {

std::string quoted(std::string_view text) {
  return text.empty() ? std::string() : nlohmann::json(text).dump();
}

// A regular expression of exactly this text, which is ASCII.
std::string regex_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02X", static_cast<unsigned>(c));
    out += code;
  }
  return out;
}

// How a grammar refers to a text that is a special token.
std::optional<std::string> special_token(std::string_view text, const Tokenizer& tokenizer) {
  const auto id = tokenizer.token_to_id(text);
  if (!id || !tokenizer.is_special(*id)) return std::nullopt;
  return str("<[", *id, "]>");
}

std::string literal(std::string_view text, const Tokenizer& tokenizer) {
  return special_token(text, tokenizer).value_or(quoted(text));
}

// An answer that is calls, or text of its own form, or free text and perhaps calls behind it.
std::string start_rules(const ToolGrammar& tools, const std::optional<std::string>& special,
                        bool drops_space) {
  const ToolFormat& format = *tools.format;
  const std::string lead = special.value_or(quoted(format.lead));
  const std::string calls = format.lead.empty() ? "calls" : lead + " \" \"? calls";
  const std::string space = special && drops_space ? "\" \" " : "";  // the text's, not the lead's
  if (tools.must_call) return str("start: ", calls, "\n");
  if (tools.text) return str("start: ", calls, " | ", space, "@text\n");
  if (special)
    return str("start: ", calls, " | ", space, "FREE (", calls, ")? |\nFREE: /(?s:.+)/\n");
  if (format.lead.empty())
    return str("start: OPEN some_calls | FREE |\nOPEN: /\\n*", regex_of(format.open),
               "/\nFREE: /\\n+|\\n*[^\\n", regex_of(format.open.substr(0, 1)), "](?s:.*)/\n");
  const std::string up_to_lead = "(?s:.*)" + regex_of(format.lead);
  return str("start: before \" \"? calls | FREE\nbefore[lazy]: /", up_to_lead,
             "/\nFREE: /(?s:.*)/ & ~/", up_to_lead, "(?s:.*)/\n");
}

std::string call_rules(const ToolGrammar& tools, const Tokenizer& tokenizer) {
  const ToolFormat& format = *tools.format;
  std::string out = "calls: " + quoted(format.open) + " some_calls\nsome_calls: call ";
  const char* space = format.open.empty() ? " \" \"?" : "";  // as behind the lead
  if (tools.several) out += str("(", literal(format.between, tokenizer), space, " call)* ");
  out += quoted(format.end) + "\ncall: ";
  for (size_t i = 0; i < tools.functions.size(); ++i) {
    out += str(i == 0 ? "" : " | ", quoted(tools.functions[i].name), " ",
               literal(format.middle, tokenizer), " @arguments_", i, " ", quoted(format.close));
  }
  return out + "\n";
}

}  // namespace

GrammarSource tool_grammar(const ToolGrammar& tools, const Tokenizer& tokenizer) {
  const auto special = special_token(tools.format->lead, tokenizer);
  const bool drops_space = tokenizer.first_space() != FirstSpace::kept;
  GrammarSource source{
      .kind = GrammarSource::Kind::lark,
      .text = start_rules(tools, special, drops_space) + call_rules(tools, tokenizer)};
  source.begins_with_text = !special;
  for (const ToolFunction& function : tools.functions)
    source.parts.push_back({.kind = GrammarSource::Kind::json_schema,
                            .text = function.parameters,
                            .name = str("arguments_", source.parts.size()),
                            .label = function.label});
  if (tools.text && !tools.must_call) {
    source.parts.push_back(*tools.text);
    source.parts.back().name = "text";
  }
  return source;
}

}  // namespace mlxforge
