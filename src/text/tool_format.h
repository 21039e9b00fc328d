// How models write tool calls, as data. A text with calls is
//   anything  lead  open NAME middle ARGUMENTS close  between NAME middle ARGUMENTS close ...  end
// where ARGUMENTS is a JSON object. Constant: any thread may use it.
#pragma once

#include <span>
#include <string_view>

namespace mlxforge {

struct ToolFormat {
  std::string_view name;  // of --tool-parser
  std::string_view sign;  // what the chat templates of its models have in their text
  std::string_view lead;  // may be a special token; empty: the whole answer is calls, or none is
  std::string_view open;
  std::string_view middle;  // may be a special token, and so may `between`
  std::string_view close;
  std::string_view between;
  std::string_view end;
  bool short_ids = false;  // its templates take ids of nine letters and digits only
};

std::span<const ToolFormat> tool_formats();
// By --tool-parser's name; null: there is none.
const ToolFormat* tool_format(std::string_view name);
// The format that a chat template's text speaks of; hermes where it speaks of none.
const ToolFormat& tool_format_of(std::string_view template_text);

}  // namespace mlxforge
