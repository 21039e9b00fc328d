#include "text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace mlxforge {

StopStrings::StopStrings(std::vector<std::string> stops) {
  for (std::string& text : stops) {
    check(!text.empty(), "an empty stop string");
    Matcher matcher{.text = std::move(text)};
    // fallback[n] is found by matching the text against itself, one byte behind.
    Matcher behind{.text = matcher.text, .fallback = {0, 0}};
    for (size_t n = 1; n < matcher.text.size(); ++n) {
      behind.step(matcher.text[n]);
      behind.fallback.push_back(behind.length);
    }
    matcher.fallback = std::move(behind.fallback);
    matchers_.push_back(std::move(matcher));
  }
}

void StopStrings::Matcher::step(char c) {
  while (length > 0 && text[length] != c) length = fallback[length];
  if (text[length] == c) ++length;
}

std::string StopStrings::push(std::string_view piece) {
  if (matched()) return {};
  for (const char c : piece) {
    held_ += c;
    for (Matcher& matcher : matchers_) {
      matcher.step(c);
      if (matcher.length == matcher.text.size() && matcher.length > match_.size())
        match_ = matcher.text;
    }
    if (matched()) {
      held_.resize(held_.size() - match_.size());
      return std::exchange(held_, {});
    }
  }
  size_t open = 0;  // bytes at the end that may become a match
  for (const Matcher& matcher : matchers_) open = std::max(open, matcher.length);
  std::string shown = held_.substr(0, held_.size() - open);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::flush() { return std::exchange(held_, {}); }

}  // namespace mlxforge
