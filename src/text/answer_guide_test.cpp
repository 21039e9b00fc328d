#include "text/answer_guide.h"

#include <algorithm>
#include <random>
#include <regex>

#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;
using enum ReasoningStage;

struct Model {
  std::string name;
  std::shared_ptr<const Tokenizer> tokenizer;
  int32_t end;
  std::shared_ptr<const ReasoningTokens> reasoning =
      std::make_shared<const ReasoningTokens>(tokenizer);
  std::shared_ptr<const GrammarCompiler> compiler =
      std::make_shared<const GrammarCompiler>(tokenizer, std::vector<int32_t>{end});

  std::shared_ptr<const Grammar> regex(const char* text) const {
    auto grammar = compiler->compile({.kind = GrammarSource::Kind::regex, .text = text});
    EXPECT_TRUE(grammar.ok()) << grammar.status().message;
    return *grammar;
  }
  ReasoningRules rules(ReasoningStage stage, std::optional<int> budget = {}) const {
    return {.tokens = reasoning, .stage = stage, .budget = budget};
  }
  // Each text encoded by itself, as the beginning of a text.
  Ids ids(std::initializer_list<const char*> texts) const {
    Ids out;
    for (const char* text : texts)
      for (const int32_t id : tokenizer->encode(text, {.parse_special = true})) out.push_back(id);
    return out;
  }
};

// With the tags, and tokens that go on behind one, in the vocabulary.
Tokenizer with_tags(const std::string& name, bool special) {
  auto json = fixture_json("tokenizers/" + name + ".json");
  int id = Tokenizer::from_json(json.dump()).vocab_size();
  const auto add = [&](const char* text, bool is_special) {
    json["added_tokens"].push_back({{"id", id++},
                                    {"content", text},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", is_special}});
  };
  add("<think>", special);
  add("</think>", special);
  add("</think>\n\n", false);
  add(">!", false);
  return Tokenizer::from_json(json.dump());
}

Model model_of(std::string name, Tokenizer tokenizer, const char* end) {
  const int32_t id = tokenizer.token_to_id(end).value();
  return {std::move(name), std::make_shared<const Tokenizer>(std::move(tokenizer)), id};
}

const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      model_of("smollm", from_json_fixture("smollm"), "<|endoftext|>"),
      model_of("spm", from_json_fixture("spm"), "<|endoftext|>"),
      model_of("llama3", from_json_fixture("llama3"), "<|eot_id|>"),
      model_of("tags", with_tags("smollm", false), "<|endoftext|>"),
      model_of("special tags", with_tags("smollm", true), "<|endoftext|>")};
  return all;
}

bool allows(AnswerGuide& guide, int32_t id) {
  if (std::ranges::find(guide.banned(), id) != guide.banned().end()) return false;
  auto mask = guide.allowed();
  EXPECT_TRUE(mask.ok());
  return mask->empty() || ((*mask)[id / 32] >> id % 32 & 1);
}

// Whether the tokens may come one after another, and complete the grammar.
bool follows(AnswerGuide guide, const Ids& ids) {
  for (const int32_t id : ids) {
    if (guide.ended() || !allows(guide, id)) return false;
    guide.accept(id);
  }
  return guide.ended();
}

TEST(AnswerGuide, TheGrammarBeginsBehindTheReasoning) {
  for (const Model& m : models()) {
    const auto grammar = m.regex("yes|no|<b>");
    const auto fits = [&](ReasoningStage stage, std::initializer_list<const char*> texts) {
      return follows(AnswerGuide(grammar, m.rules(stage)), m.ids(texts));
    };
    EXPECT_TRUE(fits(before, {"yes"})) << m.name;
    EXPECT_TRUE(fits(before, {"<think>\nmaybe no\n</think>", "no"})) << m.name;
    EXPECT_TRUE(fits(before, {"<think></think>", "yes"})) << m.name;
    EXPECT_TRUE(fits(before, {"<b>"})) << m.name;  // begins as <think> does
    EXPECT_TRUE(fits(before, {"<think>a </ </thin </think>", "<b>"})) << m.name;
    EXPECT_FALSE(fits(before, {"maybe"})) << m.name;
    EXPECT_FALSE(fits(before, {"<thin"})) << m.name;
    EXPECT_FALSE(fits(before, {"<think>a</think>", "maybe"})) << m.name;
    EXPECT_FALSE(fits(before, {"<think>a</think>", "<think>b</think>", "yes"})) << m.name;
    EXPECT_TRUE(fits(inside, {"so it is\n</think>", "yes"})) << m.name;
    EXPECT_FALSE(fits(inside, {"yes"})) << m.name;
    EXPECT_TRUE(fits(after, {"yes"})) << m.name;
    EXPECT_FALSE(fits(after, {"<think>a</think>", "yes"})) << m.name;
  }
}

TEST(AnswerGuide, WhatTheGrammarDoesNotAllowIsAFailure) {
  for (const Model& m : models()) {
    AnswerGuide guide(m.regex("yes"), m.rules(after));
    guide.accept(m.ids({"q"}).back());
    EXPECT_FALSE(guide.allowed().ok()) << m.name;
    AnswerGuide reasons(m.regex("yes"), m.rules(before));
    for (const int32_t id : m.ids({"<think>"})) reasons.accept(id);
    EXPECT_TRUE(reasons.allowed().ok()) << m.name;
  }
}

TEST(AnswerGuide, NoTokenReachesFromTheReasoningIntoTheAnswer) {
  for (const Model& m : models()) {
    if (!m.tokenizer->token_to_id(">!")) continue;
    for (const auto& grammar : {m.regex("yes"), std::shared_ptr<const Grammar>()}) {
      AnswerGuide guide(grammar, m.rules(inside));
      const bool free = !grammar;
      EXPECT_EQ(allows(guide, *m.tokenizer->token_to_id("</think>\n\n")), free) << m.name;
      EXPECT_TRUE(allows(guide, *m.tokenizer->token_to_id("</think>")));
      EXPECT_TRUE(allows(guide, *m.tokenizer->token_to_id(">!")));
      for (const int32_t id : m.ids({"</thin", "k"})) guide.accept(id);
      EXPECT_EQ(allows(guide, *m.tokenizer->token_to_id(">!")), free) << m.name;
    }
  }
}

TEST(AnswerGuide, AnAnswerIsDueWhileTheReasoningLasts) {
  for (const Model& m : models()) {
    AnswerGuide guide(m.regex("yes"), m.rules(before)), free(nullptr, m.rules(before));
    EXPECT_FALSE(guide.answer_due());
    for (const int32_t id : m.ids({"<think>a"})) guide.accept(id), free.accept(id);
    EXPECT_TRUE(guide.answer_due());
    EXPECT_FALSE(free.answer_due());
    for (const int32_t id : m.ids({"</think>"})) guide.accept(id);
    EXPECT_FALSE(guide.answer_due());
  }
}

// A model that would reason for ever.
TEST(AnswerGuide, TheBudgetEndsTheReasoning) {
  for (const Model& m : models()) {
    const int32_t a = m.tokenizer->encode("a").back();
    for (const ReasoningStage stage : {before, inside}) {
      for (const int budget : {0, 1, 7}) {
        AnswerGuide guide(nullptr, m.rules(stage, budget));
        if (stage == before)
          for (const int32_t id : m.ids({"<think>"})) guide.accept(id);
        std::string text;
        int n_free = 0;
        while (!text.ends_with(kThinkEnd) && n_free <= budget) {
          n_free += !guide.forced();
          int32_t next = a;
          while (!allows(guide, next)) next = (next + 1) % m.tokenizer->vocab_size();
          text += m.reasoning->text(next);
          guide.accept(next);
        }
        EXPECT_EQ(n_free, budget) << m.name;
        EXPECT_TRUE(text.ends_with("\n</think>")) << m.name << ": " << text;
        EXPECT_FALSE(guide.forced());
        EXPECT_TRUE(guide.allowed()->empty());
      }
    }
  }
}

TEST(AnswerGuide, TheBudgetCutsNoCharacter) {
  const Model& m = models().front();
  const Ids smile = m.ids({"\xF0\x9F\x98\x80"});
  ASSERT_GT(smile.size(), 1u);
  AnswerGuide guide(nullptr, m.rules(inside, 1));
  for (const int32_t id : smile) {
    EXPECT_FALSE(guide.forced());
    guide.accept(id);
  }
  EXPECT_TRUE(guide.forced());
  AnswerGuide endless(nullptr, m.rules(inside, 1));
  int n = 0;
  for (; n < 100 && !endless.forced(); ++n) endless.accept(smile.front());
  EXPECT_LE(n, 4);
}

// Whatever a model says, the answer is one of the grammar's.
TEST(AnswerGuide, RandomTokensGiveAnAnswerOfTheForm) {
  const std::regex form("yes|no|<b>");
  std::mt19937 random(7);
  for (const Model& m : models()) {
    const auto grammar = m.regex("yes|no|<b>");
    const Ids likely = m.ids({"<think></think> yes no <b>", "</think"});
    for (int run = 0; run < 40; ++run) {
      AnswerGuide guide(grammar, m.rules(run % 2 ? before : inside, run % 3 ? 20 : 200));
      ReasoningSplitter splitter(run % 2 ? before : inside, false);
      std::string answer;
      while (!guide.ended()) {
        int32_t id = likely[random() % likely.size()];
        if (random() % 4 == 0) id = static_cast<int32_t>(random() % m.tokenizer->vocab_size());
        const bool early = guide.answer_due() && id == m.end;
        if (early || !allows(guide, id)) continue;
        guide.accept(id);
        answer += splitter.push(m.reasoning->text(id)).answer;
      }
      answer += splitter.flush().answer;
      if (m.tokenizer->first_space() != FirstSpace::kept) answer.erase(0, 1);
      EXPECT_TRUE(std::regex_match(answer, form)) << m.name << ": " << answer;
    }
  }
}

}  // namespace
}  // namespace mlxforge
