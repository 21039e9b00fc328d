// Tool calls: what the grammars let through is what the parser takes apart, in every format.
#include "text/tool_grammar.h"

#include <map>
#include <random>

#include "text/detokenizer.h"
#include "text/fixtures_test.h"
#include "text/tool_parser.h"

namespace mlxforge {
namespace {

using namespace testing_text;

struct Call {
  std::string name, arguments;
  bool operator==(const Call&) const = default;
};
struct Parsed {
  std::string content;
  std::vector<Call> calls;
  bool operator==(const Parsed&) const = default;
  void add(const ParsedText& part) {
    content += part.content;
    for (const ToolDelta& delta : part.calls) {
      if (!delta.name.empty()) calls.push_back({delta.name, ""});
      ASSERT_EQ(delta.index + 1, calls.size());
      calls.back().arguments += delta.arguments;
    }
  }
};

// The text pushed in pieces that end at multiples of `step`.
Parsed parse(const ToolFormat& format, const std::string& text, size_t step) {
  ToolParser parser(format);
  Parsed out;
  for (size_t i = 0; i < text.size(); i += step) out.add(parser.push(text.substr(i, step)));
  out.add(parser.flush());
  EXPECT_EQ(parser.n_calls(), out.calls.size());
  return out;
}

std::string written(const ToolFormat& format, const std::vector<Call>& calls) {
  std::string out(format.lead);
  for (size_t i = 0; i < calls.size(); ++i)
    out += std::string(i == 0 ? format.open : format.between) + calls[i].name +
           std::string(format.middle) + calls[i].arguments + std::string(format.close);
  return out + std::string(format.end);
}

TEST(ToolParser, TakesCallsApartHoweverTheTextIsCut) {
  const std::vector<Call> calls = {
      {"get_weather", R"({"city": "São {Paulo} \"]}\\", "n": [1, {}]})"},
      {"a-b", "{}"},
      {"c", R"({"text": "</tool_call> ; , ]"})"}};
  for (const ToolFormat& format : tool_formats()) {
    for (size_t n = 1; n <= calls.size(); ++n) {
      const std::vector<Call> some(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(n));
      const std::string before = format.lead.empty() ? "" : "Let me see. <tool [TOOL";
      for (const size_t step : {1, 2, 3, 7, 1000})
        EXPECT_EQ(parse(format, before + written(format, some), step), (Parsed{before, some}))
            << format.name << " by " << step;
    }
  }
}

TEST(ToolParser, ASpaceMayStandBehindTheLead) {
  const ToolFormat& format = *tool_format("mistral");
  std::string text = written(format, {{"f", "{}"}});
  text.insert(format.lead.size(), " ");
  for (const size_t step : {1, 4, 12, 13, 1000})
    EXPECT_EQ(parse(format, text, step), (Parsed{"", {{"f", "{}"}}}));
}

TEST(ToolParser, TextWithoutCallsIsContent) {
  for (const ToolFormat& format : tool_formats()) {
    for (const std::string& text :
         {std::string("Hello."), std::string("<tool_cal"), std::string("{\"nam"), std::string("[{"),
          std::string("a {\"name\": \"b\"}"), std::string(format.lead),
          std::string(format.lead) + " x",
          std::string(format.lead) + std::string(format.open) + "half"})
      for (const size_t step : {1, 3, 1000})
        EXPECT_EQ(parse(format, text, step), (Parsed{text, {}})) << format.name;
  }
}

TEST(ToolParser, CutArgumentsAreKept) {
  for (const ToolFormat& format : tool_formats()) {
    const std::string whole = written(format, {{"f", R"({"a": "b"})"}});
    const size_t at = whole.find("\"b");
    EXPECT_EQ(parse(format, whole.substr(0, at), 2), (Parsed{"", {{"f", R"({"a": )"}}}));
  }
}

TEST(ToolFormat, IsChosenByTheTemplatesText) {
  EXPECT_EQ(tool_format_of(read_file("reference/text_templates/hermes.jinja")).name, "hermes");
  EXPECT_EQ(tool_format_of(read_file("reference/text_templates/brackets.jinja")).name, "mistral");
  EXPECT_EQ(tool_format_of(read_file("reference/text_templates/headers.jinja")).name, "llama3");
  EXPECT_EQ(tool_format_of("[TOOL_CALLS]{{ name }}[ARGS]{{ arguments }}").name, "mistral-args");
  EXPECT_EQ(tool_format_of("{{ messages }}").name, "hermes");
  for (const ToolFormat& format : tool_formats()) EXPECT_EQ(tool_format(format.name), &format);
  EXPECT_EQ(tool_format("other"), nullptr);
}

const char* const kTokenizers[] = {"smollm", "spm", "llama3"};

class ToolGrammarTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::shared_ptr<const Tokenizer> tokenizer =
      std::make_shared<const Tokenizer>(from_json_fixture(std::get<0>(GetParam())));
  const ToolFormat& format = *tool_format(std::get<1>(GetParam()));
  const int32_t end = *tokenizer->token_to_id(
      std::string(std::get<0>(GetParam())) == "llama3" ? "<|eot_id|>" : "<|endoftext|>");
  GrammarCompiler compiler{tokenizer, {end}};

  ToolGrammar tools() const {
    return {
        .format = &format,
        .functions = {
            {"get",
             R"({"type":"object","properties":{"n":{"enum":[1,2]}},"required":["n"],"additionalProperties":false})",
             ""},
            {"put",
             R"({"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"s":{"const":"a"}},"required":["s"],"additionalProperties":false}}})",
             ""}}};
  }

  // What comes of allowed tokens chosen at random, the lead shown also where it is a special token.
  std::string walk(GrammarSource source, uint32_t seed) {
    for (GrammarSource& part : source.parts) part.blanks = false;  // else it walks among them
    const auto grammar = compiler.compile(source);
    EXPECT_TRUE(grammar.ok()) << grammar.status().message << "\n" << source.text;
    if (!grammar.ok()) return "";
    std::mt19937 random(seed);
    const auto constraint = grammar.value()->start();
    Detokenizer detokenizer(*tokenizer);
    std::string text;
    for (int i = 0; i < 3000 && !constraint->ended(); ++i) {
      const auto& mask = constraint->mask();
      EXPECT_TRUE(mask.ok()) << mask.status().message << " behind " << text;
      if (!mask.ok()) break;
      Ids some;
      for (int32_t id = 0; id < tokenizer->vocab_size(); ++id)
        if (mask.value()[id / 32] >> id % 32 & 1) some.push_back(id);
      const bool may_end = std::erase(some, end) > 0;
      if (may_end && (some.empty() || random() % 2 == 0)) break;
      const int32_t id = some.at(random() % some.size());
      constraint->accept(id);
      text += detokenizer.push(id);
      if (tokenizer->is_special(id)) text += tokenizer->id_to_token(id);
    }
    return text + detokenizer.flush();
  }

  void check_calls(const Parsed& parsed) {
    for (const Call& call : parsed.calls) {
      const auto arguments = nlohmann::json::parse(call.arguments);
      if (call.name == "get")
        EXPECT_TRUE(arguments == json("n", 1) || arguments == json("n", 2)) << call.arguments;
      else
        EXPECT_TRUE(call.name == "put" && arguments == json("s", "a")) << call.arguments;
    }
  }
  static nlohmann::json json(const char* name, const nlohmann::json& value) {
    return {{name, value}};
  }
};

TEST_P(ToolGrammarTest, ACallThatMustComeComesWhole) {
  ToolGrammar one = tools();
  one.must_call = true;
  one.several = false;
  std::map<std::string, int> names;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const Parsed parsed = parse(format, walk(tool_grammar(one, *tokenizer), seed), 5);
    EXPECT_EQ(parsed.content, "");
    EXPECT_EQ(parsed.calls.size(), 1u);
    check_calls(parsed);
    for (const Call& call : parsed.calls) ++names[call.name];
  }
  EXPECT_EQ(names.size(), 2u);
}

TEST_P(ToolGrammarTest, SeveralCalls) {
  ToolGrammar several = tools();
  several.must_call = true;
  size_t most = 0;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const Parsed parsed = parse(format, walk(tool_grammar(several, *tokenizer), seed), 1000);
    EXPECT_EQ(parsed.content, "");
    check_calls(parsed);
    most = std::max(most, parsed.calls.size());
  }
  EXPECT_GT(most, 1u);
}

TEST_P(ToolGrammarTest, TextThatHasAFormHasItOrCalls) {
  ToolGrammar form = tools();
  form.text = GrammarSource{.kind = GrammarSource::Kind::regex, .text = "yes|no"};
  int texts = 0, calls = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Parsed parsed = parse(format, walk(tool_grammar(form, *tokenizer), seed), 1000);
    check_calls(parsed);
    parsed.calls.empty() ? ++texts : ++calls;
    EXPECT_TRUE(parsed.content.empty() || parsed.content == "yes" || parsed.content == "no")
        << parsed.content;
  }
  EXPECT_GT(texts, 0);
  EXPECT_GT(calls, 0);
}

TEST_P(ToolGrammarTest, TextIsFreeUntilACallBegins) {
  const GrammarSource source = tool_grammar(tools(), *tokenizer);
  for (uint32_t seed = 0; seed < 12; ++seed) check_calls(parse(format, walk(source, seed), 1000));
  // Along a text that calls in the end, each token must be allowed.
  const std::string calls = written(format, {{"get", R"({"n": 1})"}, {"put", R"({"s": "a"})"}});
  const std::string text = (format.lead.empty() ? "" : "Let me <b>see</b>. ") + calls;
  const auto constraint = compiler.compile(source).value()->start();
  for (const int32_t id : tokenizer->encode(text, {.parse_special = true})) {
    const auto& mask = constraint->mask();
    ASSERT_TRUE(mask.ok()) << mask.status().message;
    ASSERT_TRUE(mask.value()[id / 32] >> id % 32 & 1)
        << tokenizer->id_to_token(id) << " in " << text;
    constraint->accept(id);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ToolGrammarTest,
                         ::testing::Combine(::testing::ValuesIn(kTokenizers),
                                            ::testing::Values("hermes", "mistral-args", "mistral",
                                                              "llama3", "json")),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + std::string("_") + std::get<1>(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace mlxforge
