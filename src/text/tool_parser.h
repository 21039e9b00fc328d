// A text that may call tools, taken apart as it grows. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tool_format.h"

namespace mlxforge {

// What has come of one call.
struct ToolDelta {
  size_t index = 0;
  std::string name;  // when it begins, else empty
  std::string arguments;
};

struct ParsedText {
  std::string content;
  std::vector<ToolDelta> calls;
};

class ToolParser {
 public:
  explicit ToolParser(const ToolFormat& format);

  ParsedText push(std::string_view text);
  // At the end: what was held back because it might have become a call.
  ParsedText flush();
  size_t n_calls() const { return n_calls_; }

 private:
  enum class State { before, opening, naming, arguments, closing, after, plain };

  bool step(ParsedText& out);
  bool find_lead(ParsedText& out);
  bool open(ParsedText& out);
  bool take(std::string_view literal, State next, ParsedText& out);
  bool begin_call(ParsedText& out);
  bool take_arguments(ParsedText& out);
  bool give_up(ParsedText& out);
  void skip(size_t n);

  const ToolFormat* format_;
  State state_;
  std::string held_;     // not yet understood
  std::string skipped_;  // of the beginning of a call that has no name yet
  size_t n_calls_ = 0;
  int depth_ = 0;  // of the arguments' brackets
  bool in_string_ = false, escaped_ = false;
};

}  // namespace mlxforge
