// What a grammar lets through, found by walking its masks at random. (Schemas by the hundred are
// checked against `jsonschema` in tests/test_schemas.py.)
#include "text/grammar.h"

#include <random>
#include <regex>
#include <set>

#include "text/detokenizer.h"
#include "text/fixtures_test.h"

namespace mlxforge {
namespace {

using namespace testing_text;
using Kind = GrammarSource::Kind;

bool allowed(const TokenMask& mask, int32_t id) { return mask[id / 32] >> id % 32 & 1; }

class GrammarTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Tokenizer> tokenizer =
      std::make_shared<const Tokenizer>(from_json_fixture(GetParam()));
  const int32_t end = *tokenizer->token_to_id("<|endoftext|>");
  GrammarCompiler compiler{tokenizer, {end}};

  std::shared_ptr<const Grammar> compile(Kind kind, const std::string& text) {
    auto grammar = compiler.compile({.kind = kind, .text = text});
    EXPECT_TRUE(grammar.ok()) << text << ": " << grammar.status().message;
    return grammar.ok() ? *grammar : nullptr;
  }
  std::string refusal(Kind kind, const std::string& text) {
    const auto grammar = compiler.compile({.kind = kind, .text = text});
    return grammar.ok() ? "" : grammar.status().message;
  }

  // The text of allowed tokens chosen at random, ended where the grammar may end.
  std::string walk(const Grammar& grammar, uint32_t seed) {
    std::mt19937 random(seed);
    const auto constraint = grammar.start();
    Ids ids;
    for (int i = 0; i < 300 && !constraint->ended(); ++i) {
      const auto& mask = constraint->mask();
      EXPECT_TRUE(mask.ok()) << mask.status().message;
      Ids some;
      for (int32_t id = 0; id < tokenizer->vocab_size(); ++id)
        if (allowed(mask.value(), id)) some.push_back(id);
      const bool may_end = std::erase(some, end) > 0;
      if (may_end && (some.empty() || random() % 2)) break;
      const int32_t id = some.at(random() % some.size());
      EXPECT_FALSE(tokenizer->is_special(id)) << tokenizer->id_to_token(id);
      constraint->accept(id);
      ids.push_back(id);
    }
    return tokenizer->decode(ids);
  }
};

TEST_P(GrammarTest, RegularExpressionsMatchAsAWhole) {
  for (const char* regex :
       {"yes|no|maybe", "a{3,5}b?", " +x", "[0-9]{2}:[0-9]{2}", "\"[a-z]{0,9}\"", "(ab){0,20}"}) {
    const auto grammar = compile(Kind::regex, regex);
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const std::string text = walk(*grammar, seed);
      EXPECT_TRUE(std::regex_match(text, std::regex(regex))) << regex << " -> '" << text << "'";
    }
  }
}

TEST_P(GrammarTest, EachChoiceIsReachedAndNoOther) {
  const std::set<std::string> choices = {"a", "ab", "a.c", "é(", "\\n", "two\nlines", " spaced"};
  const auto grammar = compile(Kind::choice, nlohmann::json(choices).dump());
  std::set<std::string> seen;
  for (uint32_t seed = 0; seed < 300; ++seed) seen.insert(walk(*grammar, seed));
  EXPECT_EQ(seen, choices);
}

// Case 52.
TEST_P(GrammarTest, EachMemberOfAnEnumIsReachedAndNoOther) {
  const auto values =
      nlohmann::json::parse(R"(["é", "\u00e9b", "a\"b", null, 1, "tab\t", [1, {"a": 2}]])");
  const auto grammar = compile(Kind::json_schema, nlohmann::json{{"enum", values}}.dump());
  std::set<nlohmann::json> seen;
  for (uint32_t seed = 0; seed < 400; ++seed)
    seen.insert(nlohmann::json::parse(walk(*grammar, seed)));
  EXPECT_EQ(seen, std::set<nlohmann::json>(values.begin(), values.end()));
}

TEST_P(GrammarTest, LarkGrammars) {
  const auto grammar = compile(Kind::lark, "start: sum\nsum: NUM (\"+\" NUM)+\nNUM: /[1-9][0-9]?/");
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::string text = walk(*grammar, seed);
    EXPECT_TRUE(std::regex_match(text, std::regex("[1-9][0-9]?(\\+[1-9][0-9]?)+"))) << text;
  }
}

TEST_P(GrammarTest, SchemasInLarkGrammars) {
  const std::string list =
      R"(%json {"type":"array","items":{"const":1},"minItems":2,"maxItems":2})";
  const std::string lark = "start: \"::=\" list \".\"\nlist: " + list + "\n";
  const auto loose = compile(Kind::lark, lark);
  size_t longest = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const std::string text = walk(*loose, seed);
    EXPECT_TRUE(std::regex_match(text, std::regex(R"(::=\[\s*1\s*,\s*1\s*\]\.)"))) << text;
    longest = std::max(longest, text.size());
  }
  EXPECT_LE(longest, 9u + 4 * 24);
  const auto tight = compiler.compile({.kind = Kind::lark, .text = lark, .blanks = false});
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(walk(*tight.value(), 1), "::=[1,1].");
  EXPECT_EQ(walk(*compile(Kind::lark, "start: \"\\u0025json\""), 1), "%json");
  for (const auto& [schema, name] : {std::pair(R"({"maxlength":3})", "'maxlength'"),
                                     {R"({"x-guidance":{"lenient":true}})", "'x-guidance'"},
                                     {R"({"enum":[]})", "enum"},
                                     {"nothing", "must follow %json"},
                                     {R"({"type":)", "EOF while parsing a value"},
                                     {"", "must follow %json"}}) {
    const std::string message = refusal(Kind::lark, str("start: a\na: \"x\" | %json ", schema));
    EXPECT_NE(message.find(name), message.npos) << schema << ": " << message;
  }
}

TEST_P(GrammarTest, GbnfGrammars) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= \"a\" b-c | [0-9]+  # digits\nb-c ::= (\"x\" | \"y\"){2,3}\n",
       "a[xy]{2,3}|[0-9]+"},
      {"root ::= item (\", \" item)?\nitem ::= [^\", a-z\\]]{1,2} \"\\x41\\u0042\\\"\"",
       "[^\", a-z\\]]{1,8}AB\"(, [^\", a-z\\]]{1,8}AB\")?"},
      {"root ::= Name name? .\n\nName ::= \"N\"\nname ::= \"n\"", "Nn?([^]{1,4})"}};
  for (const auto& [gbnf, regex] : cases) {
    const auto grammar = compile(Kind::lark, gbnf);
    ASSERT_TRUE(grammar);
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const std::string text = walk(*grammar, seed);
      EXPECT_TRUE(std::regex_match(text, std::regex(regex))) << gbnf << " -> '" << text << "'";
    }
  }
}

TEST_P(GrammarTest, BlanksBetweenJsonTokensAreBounded) {
  const std::string schema = R"({"type":"array","items":{"const":1},"minItems":2,"maxItems":2})";
  const auto loose = compile(Kind::json_schema, schema);
  size_t longest = 0;
  for (uint32_t seed = 0; seed < 100; ++seed)
    longest = std::max(longest, walk(*loose, seed).size());
  EXPECT_GT(longest, 5u);
  EXPECT_LE(longest, 5u + 4 * 24);
  const auto tight = compiler.compile({.kind = Kind::json_schema, .text = schema, .blanks = false});
  ASSERT_TRUE(tight.ok());
  for (uint32_t seed = 0; seed < 10; ++seed) EXPECT_EQ(walk(*tight.value(), seed), "[1,1]");
}

// Cases 51 and 52: what cannot be held is refused, with its name.
TEST_P(GrammarTest, WhatCannotBeHeldIsRefusedByName) {
  const std::pair<const char*, const char*> schemas[] = {
      {R"({"type":"string","pattern":"^(?=x)y$"})", "pattern"},
      {R"({"type":"string","pattern":"(a)\\1"})", "pattern"},
      {R"({"type":"string","pattern":"["})", "pattern"},
      {R"-({"patternProperties":{"(?!a)":{}}})-", "patternProperties"},
      {R"({"not":{"type":"string"}})", "'not'"},
      {R"({"properties":{"a":{"if":{}}}})", "'if'"},
      {R"({"items":{"anyOf":[{"contains":{}}]}})", "'contains'"},
      {R"({"uniqueItems":true})", "'uniqueItems'"},
      {R"({"propertyNames":{}})", "'propertyNames'"},
      {R"({"unevaluatedProperties":false})", "'unevaluatedProperties'"},
      {R"({"dependentRequired":{"a":["b"]}})", "'dependentRequired'"},
      {R"({"nullable":true})", "'nullable'"},
      {R"({"maxlength":3})", "'maxlength'"},
      {R"({"x-guidance":{"lenient":true}})", "'x-guidance'"},
      {R"({"type":"string","format":"colour"})", "format"},
      {R"({"type":"text"})", "type"},
      {R"({"oneOf":[{"type":"string"},{"type":"string","maxLength":3}]})", "oneOf"},
      {R"({"minProperties":2})", "minProperties"},
      {R"({"const":9007199254740993})", "const"},
      {R"({"enum":[1e300]})", "enum"},
      {R"({"enum":["\u0001"]})", "enum"},
      {R"({"enum":[]})", "enum"},
      {R"({"properties":[]})", "properties"},
      {R"({"items":5})", "items"},
      {R"({"$ref":"#/$defs/none"})", "none"},
      {R"({"$ref":"http://example.com/schema"})", "example.com"},
      // A reference that never ends.
      {R"({"$ref":"#/$defs/n","$defs":{"n":{"$ref":"#/$defs/n"}}})", "$ref"},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "$ref"},
      {R"({"type":"array","items":{"$ref":"#"},"minItems":1})", "$ref"},
      {R"({"anyOf":[{"$ref":"#"},{"allOf":[{"$ref":"#"}]}]})", "$ref"},
      {R"({"type":"integer","minimum":5,"maximum":4})", "minimum"},
      {"false", "false"},
      {"{", ""},
  };
  for (const auto& [schema, name] : schemas) {
    const std::string message = refusal(Kind::json_schema, schema);
    EXPECT_NE(message, "") << schema;
    EXPECT_NE(message.find(name), message.npos) << schema << ": " << message;
  }
  for (const char* regex : {"(?=a)b", "[", "(a)\\1", "a\\b", "a**("})
    EXPECT_NE(refusal(Kind::regex, regex), "") << regex;
  for (const char* lark : {"root ::= 'a'", "root ::= \"a", "root ::= [a", "x ::= \"a\"",
                           "start: missing", "", "start: \"a"})
    EXPECT_NE(refusal(Kind::lark, lark), "") << lark;
}

// Nothing here may take long, run out of memory or of stack: it is refused, or it compiles.
TEST_P(GrammarTest, HostileSourcesAreHarmless) {
  std::string deep, wide = R"({"enum":["a")", nested = "1";
  for (int i = 0; i < 60; ++i) deep += R"({"items":)";
  deep += "{}" + std::string(60, '}');
  for (int i = 0; i < 20000; ++i) wide += ",\"" + std::to_string(i) + "\"";
  wide += "]}";
  for (const std::string& schema :
       {deep, wide, std::string(300000, ' '),
        std::string(R"({"type":"array","items":{"type":"string"},"minItems":1000000000})"),
        std::string(R"({"type":"string","minLength":1000000000})"),
        std::string(R"({"type":"string","pattern":"((a{1000}){1000}){1000}"})"),
        std::string(R"({"type":"string","pattern":"(a|aa|aaa|b|.*c.*d.*e.*f)*x{500}.{500}y"})")})
    static_cast<void>(compiler.compile({.kind = Kind::json_schema, .text = schema}));
  for (const std::string& regex :
       {std::string("((((a{1000}){1000}){1000}){1000})"), std::string("(.*a){5000}"),
        std::string(100000, '('), std::string(100000, 'a')})
    static_cast<void>(compiler.compile({.kind = Kind::regex, .text = regex}));
  std::string rules = "start: a0\n";
  for (int i = 0; i < 40; ++i) rules += str("a", i, ": a", i + 1, " a", i + 1, "\n");
  static_cast<void>(compiler.compile({.kind = Kind::lark, .text = rules + "a40: \"x\""}));
  EXPECT_NE(refusal(Kind::regex, std::string(300000, 'a')).find("longer"), std::string::npos);
}

TEST_P(GrammarTest, ConstraintsOfOneGrammarAreIndependent) {
  const auto grammar = compile(Kind::regex, "[ab]{6}");
  const auto id_of = [&](const char* text) { return *tokenizer->token_to_id(text); };
  const auto one = grammar->start(), two = grammar->start();
  const bool spaced = tokenizer->first_space() != FirstSpace::kept;
  for (const auto& c : {one.get(), two.get()})
    if (spaced) c->accept(id_of("▁"));
  one->accept(id_of("a"));
  EXPECT_TRUE(two->mask().ok());
  for (int i = 0; i < 6; ++i) two->accept(id_of("b"));
  EXPECT_TRUE(two->ended());
  EXPECT_FALSE(one->ended());
  EXPECT_TRUE(allowed(one->mask().value(), id_of("b")));
  one->accept(id_of("x"));  // not allowed
  EXPECT_FALSE(one->mask().ok());
  EXPECT_FALSE(one->ended());
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, GrammarTest, ::testing::Values("smollm", "spm"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mlxforge
