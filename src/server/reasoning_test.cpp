// Reasoning in the answers, and the fields that limit it.
#include "text/reasoning.h"

#include "server/api/openai_format.h"
#include "server/testing/api_fixture.h"
#include "server/testing/sse_events.h"
#include "text/reasoning_tokens.h"

namespace mlxforge {
namespace {

using enum FinishReason;

Generation begin(ReasoningStage stage, bool streaming) {
  static const auto model = test_model(nullptr);
  GenerationPlan plan{.requests = {{.prompt = {1, 2, 3}}},
                      .stops = {"two", "four"},
                      .parts = {.reasoning = stage},
                      .streaming = streaming};
  return Generation(model, std::move(plan),
                    std::make_unique<OpenAiFormat>(kChatShape, OpenAiOptions{.model = model->id}));
}

// The text in pieces of `step` tokens, then its end.
std::string push(Generation& generation, std::string_view text, size_t step, FinishReason finish) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += step)
    out += generation.push(0, {.tokens = bytes_of(text.substr(i, step))});
  return out + generation.push(0, {.finish = finish, .last = true});
}

OrderedJson choice_of(Generation& generation) {
  return OrderedJson::parse(generation.reply().body)["choices"][0];
}

TEST(Reasoning, IsToldFromTheAnswerAndCounted) {
  const std::string text = "<think>\nTwo and two.\n</think>\n\nIt is four.";
  for (size_t step = 1; step <= text.size(); ++step) {
    Generation whole = begin(ReasoningStage::before, false);
    push(whole, text, step, stop);
    const OrderedJson message = choice_of(whole)["message"];
    EXPECT_EQ(message["reasoning_content"], "Two and two.");
    EXPECT_EQ(message["content"], "It is ");  // stop strings are the answer's
    EXPECT_EQ(whole.usage().reasoning_tokens, text.find("</think>") + kThinkEnd.size());
    Generation streamed = begin(ReasoningStage::before, true);
    std::string thought, said;
    for (const auto& event : events_of(push(streamed, text, step, stop))) {
      if (!event.is_object()) continue;
      const OrderedJson& delta = event["choices"][0]["delta"];
      thought += delta.value("reasoning_content", "");
      said += delta.value("content", "");
    }
    EXPECT_EQ(thought, "Two and two.");
    EXPECT_EQ(said, "It is ");
  }
}

TEST(Reasoning, ThatIsCutIsNoAnswer) {
  Generation cut = begin(ReasoningStage::inside, false);
  push(cut, "Two and</th", 3, length);
  const OrderedJson choice = choice_of(cut);
  EXPECT_EQ(choice["message"]["content"], nullptr);
  EXPECT_EQ(choice["message"]["reasoning_content"], "Two and</th");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(cut.usage().reasoning_tokens, 11);
}

TEST(Reasoning, ThatIsOneTokenCounts) {
  auto json = nlohmann::json::parse(test_tokenizer_json());
  auto both = json["added_tokens"][0];
  both["id"] = kTestVocab;
  both["content"] = "<think></think>";
  both["special"] = false;
  json["added_tokens"].push_back(both);
  const auto model = test_model(nullptr);
  model->tokenizer = std::make_shared<const Tokenizer>(Tokenizer::from_json(json.dump()));
  TokenStream stream(model, {}, {.reasoning = ReasoningStage::before});
  const std::vector<int32_t> tokens = {kTestVocab, 'a'};
  EXPECT_EQ(stream.push(tokens, {}, true).text, "a");
  EXPECT_EQ(stream.reasoning_tokens(), 1);
  TokenStream plain(model, {}, {.reasoning = ReasoningStage::before});
  plain.push(std::span(tokens).last(1), {}, true);
  EXPECT_EQ(plain.reasoning_tokens(), 0);
}

TEST_F(Api, AnEffortIsABudgetUnlessTheTemplateReadsIt) {
  model_->reasoning = std::make_shared<const ReasoningTokens>(model_->tokenizer);
  const std::pair<const char*, std::optional<int>> budgets[] = {
      {"none", 0},  {"minimal", 512}, {"low", 1024}, {"medium", 8192},
      {"high", {}}, {"xhigh", {}},    {"max", {}}};
  for (const auto& [effort, budget] : budgets)
    EXPECT_EQ(request(chat(str("\"reasoning_effort\":\"", effort, "\""))).reasoning.budget, budget);
  EXPECT_EQ(request(chat("\"reasoning_budget\":7")).reasoning.budget, 7);
  EXPECT_EQ(request(chat("")).reasoning.budget, std::nullopt);
  model_->chat_template = std::make_shared<const ChatTemplate>(
      TemplateSource{"{{ messages[0].content }}{{ reasoning_effort }}", ""},
      model_->tokenizer->special_names());
  const Request r = request(chat("\"reasoning_effort\":\"low\""));
  EXPECT_EQ(r.reasoning.budget, std::nullopt);
  EXPECT_EQ(r.prompt, bytes_of("hilow"));
}

TEST_F(Api, CompletionsDoNotTakeReasoningApart) {
  model_->reasoning = std::make_shared<const ReasoningTokens>(model_->tokenizer);
  EXPECT_EQ(request(complete("")).reasoning.tokens, nullptr);
}

}  // namespace
}  // namespace mlxforge
