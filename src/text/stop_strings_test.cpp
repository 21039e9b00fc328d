#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

namespace mlxforge {
namespace {

std::string run(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopStrings matcher(std::move(stops));
  std::string shown;
  for (const std::string& piece : pieces) shown += matcher.push(piece);
  return shown + matcher.flush() + (matcher.matched() ? "#" : "");
}

TEST(StopStrings, FindsThemAcrossPieces) {  // case 26
  EXPECT_EQ(run({"lo wor"}, {"Hello wor", "ld zebras"}), "Hel#");
  EXPECT_EQ(run({"zebra!"}, {"Hello wor", "ld zebras"}), "Hello world zebras");
  EXPECT_EQ(run({"zebras", "wor"}, {"Hello wor", "ld zebras"}), "Hello #");
  EXPECT_EQ(run({}, {"a", "b"}), "ab");
  EXPECT_EQ(run({"é"}, {"caf", "é", "!"}), "caf#");
  EXPECT_EQ(run({"zebra!"}, {"a zebra"}), "a zebra");  // flushed at the end
}

TEST(StopStrings, NothingComesAfterAMatch) {
  StopStrings matcher({"b"});
  EXPECT_EQ(matcher.push("abc"), "a");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.push("def"), "");
  EXPECT_EQ(matcher.flush(), "");
}

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

// By definition: the shortest beginning of `text` that ends with a stop, less the longest such
// stop.
std::string expected_match(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t n = 1; n <= text.size(); ++n) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (ends_with(std::string_view(text).substr(0, n), stop))
        longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, n - longest) + "#";
  }
  return text;
}

// The longest end of `text` that begins a stop: all that may be held back.
size_t expected_held(const std::vector<std::string>& stops, const std::string& text) {
  size_t held = 0;
  for (const std::string& stop : stops) {
    for (size_t n = 1; n < stop.size(); ++n) {
      if (ends_with(text, stop.substr(0, n))) held = std::max(held, n);
    }
  }
  return held;
}

TEST(StopStrings, AgreesWithTheDefinitionHoweverTheTextIsCut) {
  std::mt19937 random(3);
  const auto below = [&](size_t n) { return random() % n; };
  const auto word = [&](size_t longest) {
    std::string out(1 + below(longest), 'a');
    for (char& c : out) c += static_cast<char>(below(2));
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops(below(5));
    for (std::string& stop : stops) stop = word(6);
    StopStrings matcher(stops);
    std::string text, shown;
    while (text.size() < 20 && !matcher.matched()) {
      const std::string piece = word(4);
      text += piece;
      shown += matcher.push(piece);
      if (!matcher.matched()) EXPECT_EQ(text.size() - shown.size(), expected_held(stops, text));
    }
    shown += matcher.flush();
    EXPECT_EQ(shown + (matcher.matched() ? "#" : ""), expected_match(stops, text));
  }
}

}  // namespace
}  // namespace mlxforge
