// Finds stop strings in a growing text, wherever the pieces are cut. The match that ends first
// wins, of several that end together the longest; the text from its beginning on is never shown.
// Only text that may still become a match is held back. O(number of stop strings) a byte,
// amortised. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mlxforge {

class StopStrings {
 public:
  // REQUIRES: none of them is empty. None at all is fine: every piece then passes unchanged.
  explicit StopStrings(std::vector<std::string> stops);

  // The text that may now be shown. After a match nothing more comes.
  std::string push(std::string_view piece);
  // At the end: what was held back and has not become a match.
  std::string flush();
  bool matched() const { return !match_.empty(); }
  const std::string& match() const { return match_; }  // the one that ended the text; empty: none

 private:
  // A Knuth-Morris-Pratt matcher of one stop string.
  struct Matcher {
    std::string text;
    std::vector<size_t>
        fallback;       // [n]: length of the longest proper border of text's first n bytes
    size_t length = 0;  // bytes of `text` that the input currently ends with
    void step(char c);
  };

  std::vector<Matcher> matchers_;
  std::string held_;
  std::string match_;
};

}  // namespace mlxforge
