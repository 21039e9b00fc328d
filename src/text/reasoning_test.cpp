#include "text/reasoning.h"

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;
using enum ReasoningStage;

using Parts = std::pair<std::string, std::string>;

Parts split(const std::string& text, ReasoningStage stage, bool trims, size_t step) {
  ReasoningSplitter splitter(stage, trims);
  Parts out;
  const auto add = [&](const ReasonedText& part) {
    out.first += part.reasoning;
    out.second += part.answer;
  };
  for (size_t i = 0; i < text.size(); i += step) add(splitter.push(text.substr(i, step)));
  add(splitter.flush());
  return out;
}

TEST(ReasoningSplitter, TellsReasoningFromTheAnswerHoweverTheTextIsCut) {
  const struct {
    const char *text, *reasoning, *answer;
    ReasoningStage stage = before;
    bool trims = true;
  } cases[] = {
      {"<think>\nWell,\n\nyes. \n</think>\n\nYes.\n", "Well,\n\nyes.", "Yes.\n"},
      {"\n <think> a</think>b", "a", "b"},
      {"<think></think>\n\nb", "", "b"},
      {"<think>\n\n</think>\n\n", "", ""},
      {"no <think>tags</think>", "", "no <think>tags</think>"},
      {"\n\n spaced", "", "\n\n spaced"},
      {"<thin", "", "<thin"},
      {"<thinking>", "", "<thinking>"},
      {"", "", ""},
      {"<think>cut\n</thi", "cut\n</thi", ""},
      {"<think>a < b </b> <</think>x</think>", "a < b </b> <", "x</think>"},
      {"<think>a</think>\n\n b", "a", "\n\n b", before, false},
      {"of course\n</think>\n\nYes", "of course", "Yes", inside},
      {"<think>again</think>Yes", "<think>again", "Yes", inside},
      {"cut\n\n", "cut", "", inside},
      {"\n</think>", "", "", inside},
      {"\n<think>not</think>", "", "\n<think>not</think>", after},
  };
  for (const auto& c : cases)
    for (const size_t step : {1, 2, 3, 5, 100})
      EXPECT_EQ(split(c.text, c.stage, c.trims, step), Parts(c.reasoning, c.answer))
          << c.text << " by " << step;
}

TEST(ReasoningSplitter, HoldsBackOnlyWhatMayBeATag) {
  ReasoningSplitter splitter(before, true);
  EXPECT_EQ(splitter.push("<think>\nLet me").reasoning, "Let me");
  EXPECT_EQ(splitter.push(" see").reasoning, " see");
  EXPECT_EQ(splitter.push(".\n").reasoning, ".");
  EXPECT_EQ(splitter.push("</th").reasoning, "");
  EXPECT_EQ(splitter.push("e<").reasoning, "\n</the");
  EXPECT_EQ(splitter.push("/think>\n").reasoning, "");
  EXPECT_EQ(splitter.push("\n4").answer, "4");
}

TEST(Reasoning, APromptMayEndWithATag) {
  for (const char* name : {"smollm", "spm", "llama3"}) {
    const Tokenizer tokenizer = from_json_fixture(name);
    const auto stage = [&](const char* prompt) {
      return stage_behind(tokenizer.encode(prompt, {.parse_special = true}), tokenizer);
    };
    EXPECT_EQ(stage("hello<think>\n"), inside) << name;
    EXPECT_EQ(stage("<think>"), inside);
    EXPECT_EQ(stage("<think>\n\n</think>\n\n"), after);
    EXPECT_EQ(stage("hello"), before);
    EXPECT_EQ(stage("<think>hm"), before);
    EXPECT_EQ(stage(""), before);
  }
}

}  // namespace
}  // namespace mlxforge
