#include "text/tool_parser.h"

#include <algorithm>
#include <utility>

namespace mlxforge {
namespace {

// How many last characters of `text` may be the beginning of `word`.
size_t possible_start(std::string_view text, std::string_view word) {
  size_t n = std::min(text.size(), word.size());
  while (!word.starts_with(text.substr(text.size() - n))) --n;
  return n;
}

}  // namespace

ToolParser::ToolParser(const ToolFormat& format)
    : format_(&format), state_(format.lead.empty() ? State::opening : State::before) {}

ParsedText ToolParser::push(std::string_view text) {
  held_ += text;
  ParsedText out;
  while (!held_.empty() && step(out)) {
  }
  return out;
}

ParsedText ToolParser::flush() {
  ParsedText out;
  if (n_calls_ == 0) give_up(out);
  return out;
}

// Whether there is more to do with what is held.
bool ToolParser::step(ParsedText& out) {
  switch (state_) {
    case State::before:
      return find_lead(out);
    case State::opening:
      return open(out);
    case State::naming:
      return begin_call(out);
    case State::arguments:
      return take_arguments(out);
    case State::closing:
      return take(format_->close, State::after, out);
    case State::after:
      return take(format_->between, format_->open.empty() ? State::opening : State::naming, out);
    case State::plain:
      return give_up(out);
  }
  return false;
}

bool ToolParser::find_lead(ParsedText& out) {
  const size_t at = held_.find(format_->lead);
  const bool found = at != held_.npos;
  const size_t n_content = found ? at : held_.size() - possible_start(held_, format_->lead);
  out.content += held_.substr(0, n_content);
  held_.erase(0, n_content);
  if (!found) return false;
  skip(format_->lead.size());
  state_ = State::opening;
  return true;
}

bool ToolParser::open(ParsedText& out) {
  const char blank = format_->lead.empty() ? '\n' : ' ';
  if (!held_.starts_with(blank)) return take(format_->open, State::naming, out);
  skip(1);
  return true;
}

// Behind a call that has come whole nothing but another one matters.
bool ToolParser::take(std::string_view literal, State next, ParsedText& out) {
  if (held_.size() < literal.size() && literal.starts_with(held_)) return false;  // to be continued
  if (!held_.starts_with(literal)) return give_up(out);
  skip(literal.size());
  state_ = next;
  return true;
}

bool ToolParser::begin_call(ParsedText& out) {
  const size_t n = held_.find(format_->middle);
  if (n == held_.npos) return false;
  out.calls.push_back({.index = n_calls_++, .name = held_.substr(0, n), .arguments = {}});
  held_.erase(0, n + format_->middle.size());
  skipped_.clear();
  state_ = State::arguments;
  return true;
}

bool ToolParser::take_arguments(ParsedText& out) {
  size_t n = 0;
  do {
    const char c = held_[n++];
    if (escaped_)
      escaped_ = false;
    else if (c == '"')
      in_string_ = !in_string_;
    else if (in_string_)
      escaped_ = c == '\\';
    else
      depth_ += (c == '{' || c == '[') - (c == '}' || c == ']');
  } while (n < held_.size() && depth_ > 0);
  out.calls.push_back({.index = n_calls_ - 1, .name = {}, .arguments = held_.substr(0, n)});
  held_.erase(0, n);
  if (depth_ == 0) state_ = State::closing;
  return true;
}

void ToolParser::skip(size_t n) {
  skipped_ += held_.substr(0, n);
  held_.erase(0, n);
}

// No call: all of it is content, now and later. What follows calls is dropped.
bool ToolParser::give_up(ParsedText& out) {
  state_ = State::plain;
  if (n_calls_ == 0) out.content += skipped_ + held_;
  skipped_.clear();
  held_.clear();
  return false;
}

}  // namespace mlxforge
