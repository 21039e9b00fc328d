// Anthropic's conversations: what reaches the template, and what is refused.
#include <gtest/gtest.h>

#include "server/api/anthropic_error.h"
#include "server/api/anthropic_messages.h"
#include "server/error.h"
#include "server/testing/api_fixture.h"
#include "text/reasoning_tokens.h"

namespace mlxforge {
namespace {

OrderedJson converted(const char* system, const char* messages) {
  auto out = openai_messages(OrderedJson::parse(system), OrderedJson::parse(messages));
  return out.ok() ? *out : OrderedJson(out.status().message);
}

TEST(AnthropicMessages, TextAndSystem) {
  EXPECT_EQ(
      converted(R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])",
                R"([{"role":"user","content":"hi"}])"),
      OrderedJson::parse(R"([{"role":"system","content":"ab"},{"role":"user","content":"hi"}])"));
  EXPECT_EQ(converted("null", R"([{"role":"user","content":[{"type":"text","text":"x",
                                  "cache_control":{"type":"ephemeral"}}]}])"),
            OrderedJson::parse(R"([{"role":"user","content":[{"type":"text","text":"x"}]}])"));
}

// A call stays one turn with its text and reasoning; each result becomes a turn, in its place.
TEST(AnthropicMessages, Tools) {
  EXPECT_EQ(converted("null", R"([
      {"role":"user","content":"Weather?"},
      {"role":"assistant","content":[
        {"type":"thinking","thinking":"Hm.","signature":"s"},
        {"type":"redacted_thinking","data":"x"},
        {"type":"text","text":"I look."},
        {"type":"tool_use","id":"a","name":"weather","input":{"city":"Paris"}},
        {"type":"tool_use","id":"b","name":"time","input":{}}]},
      {"role":"user","content":[
        {"type":"tool_result","tool_use_id":"a","content":"sun"},
        {"type":"tool_result","tool_use_id":"b","is_error":true,
         "content":[{"type":"text","text":"no "},{"type":"text","text":"clock"}]},
        {"type":"text","text":"And now?"}]}])"),
            OrderedJson::parse(R"([
      {"role":"user","content":"Weather?"},
      {"role":"assistant","content":[{"type":"text","text":"I look."}],"reasoning_content":"Hm.",
       "tool_calls":[
         {"id":"a","type":"function","function":{"name":"weather","arguments":{"city":"Paris"}}},
         {"id":"b","type":"function","function":{"name":"time","arguments":{}}}]},
      {"role":"tool","tool_call_id":"a","content":"sun"},
      {"role":"tool","tool_call_id":"b","content":"no clock","is_error":true},
      {"role":"user","content":[{"type":"text","text":"And now?"}]}])"));
}

TEST_F(Api, MessagesRefuses) {
  for (
      const std::string messages :
      {R"([])", R"({})", R"("hi")", R"([1])", R"([{"role":"system","content":"x"}])",
       R"([{"role":"user"}])", R"([{"role":"user","content":[]}])",
       R"([{"role":"user","content":5}])", R"([{"role":"user","content":[1]}])",
       R"([{"role":"user","content":[{"type":"image","source":{}}]}])",
       R"([{"role":"user","content":[{"type":"text"}]}])",
       R"([{"role":"user","content":[{"type":"text","text":5}]}])",
       R"([{"role":"user","content":[{"type":"tool_result"}]}])",
       R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]}])",
       R"([{"role":"user","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}])",
       R"([{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":"x"}]},{"role":"user","content":"x"}])",
       R"([{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]},{"role":"user","content":"x"}])",
       R"([{"role":"assistant","content":[{"type":"thinking","thinking":5}]},{"role":"user","content":"x"}])",
       R"([{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}])"})
    for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"})
      expect_error(post(path, "{\"messages\":" + messages + "}"), 400, "messages", messages);
  const auto with = [&](const std::string& field) {
    return post("/v1/messages", R"({"messages":[{"role":"user","content":"x"}],)" + field + "}");
  };
  for (const char* system : {"5", "[5]", R"([{"type":"image"}])", R"([{"type":"text"}])"})
    expect_error(with(str("\"system\":", system)), 400, "system", system);
  for (const char* stops : {"\"x\"", "[5]", "[\"\"]"})
    expect_error(with(str("\"stop_sequences\":", stops)), 400, "stop_sequences", stops);
  expect_error(with("\"max_tokens\":0"), 400, "max_tokens", "no tokens");
  for (const char* tools : {R"([5])", R"([{"type":"web_search_20250305","name":"web_search"}])",
                            R"([{"input_schema":{}}])", R"([{"name":"a b"}])",
                            R"([{"name":"a","input_schema":{"type":"string"}}])"})
    expect_error(with(str("\"tools\":", tools)), 400, "tools", tools);
  for (const char* choice :
       {R"({})", R"({"type":"tool"})", R"({"type":"required"})", R"({"type":"any"})",
        R"({"type":"tool","name":"a"})", R"({"type":"auto","disable_parallel_tool_use":"no"})"})
    expect_error(with(str("\"tool_choice\":", choice)), 400, "tool_choice", choice);
  for (const char* thinking :
       {R"({})", R"({"type":"enabled"})", R"({"type":"enabled","budget_tokens":0})",
        R"({"type":"enabled","budget_tokens":"x"})", R"({"type":"between_tools"})",
        R"({"type":"adaptive","display":"omitted"})",
        R"({"type":"enabled","budget_tokens":5})"})  // of a model that does not reason
    expect_error(with(str("\"thinking\":", thinking)), 400, "thinking", thinking);
  for (const char* config :
       {R"({"effort":"low"})", R"({"effort":5})", R"({"other":5})", R"({"format":{"type":"text"}})",
        R"({"format":{"type":"json_schema","schema":5}})"})
    expect_error(with(str("\"output_config\":", config)), 400, "output_config", config);
  for (const char* format : {R"({"type":"text"})", R"({"type":"json_schema"})",
                             R"({"type":"json_schema","schema":{"not":{}}})"})
    expect_error(with(str("\"output_format\":", format)), 400, "output_format", format);
  request(with(R"("stop_sequences":["a"],"thinking":{"type":"disabled"},"temperature":0.5)"));
}

TEST_F(Api, MessagesGoOnWithABegunAnswer) {
  const auto result = post("/v1/messages", R"({"messages":[{"role":"user","content":"x"},
      {"role":"assistant","content":[{"type":"text","text":"The answer"},{"type":"text","text":" is"}]}]})");
  const std::vector<int32_t> prompt = request(result).prompt;
  EXPECT_EQ(std::string(prompt.end() - 13, prompt.end()), "The answer is");
}

TEST_F(Api, ThinkingIsABudget) {
  model_->reasoning = std::make_shared<const ReasoningTokens>(model_->tokenizer);
  const auto budget = [&](const std::string& fields) {
    const std::string head = R"({"messages":[{"role":"user","content":"x"}])";
    return request(post("/v1/messages", head + fields + "}")).reasoning.budget;
  };
  EXPECT_EQ(budget(""), std::nullopt);
  EXPECT_EQ(budget(R"(,"thinking":{"type":"adaptive"})"), std::nullopt);
  EXPECT_EQ(budget(R"(,"thinking":{"type":"enabled","budget_tokens":99,"display":"summarized"})"),
            99);
  EXPECT_EQ(budget(R"(,"thinking":{"type":"disabled"})"), 0);
  EXPECT_EQ(budget(R"(,"output_config":{"effort":"low"})"), 1024);
  const std::string parts[] = {R"("thinking":{"type":"enabled","budget_tokens":9})",
                               R"("output_config":{"effort":"low"})"};
  for (const std::string& both : {parts[0] + "," + parts[1], parts[1] + "," + parts[0]}) {
    const auto refused =
        post("/v1/messages", R"({"messages":[{"role":"user","content":"x"}],)" + both + "}");
    expect_error(refused, 400, "output_config", both);
    EXPECT_NE(std::get<HttpReply>(refused).body.find("'output_config' and 'thinking'"),
              std::string::npos);
  }
}

TEST_F(Api, OneCallAtATimeIsAskedForByTrueAlone) {
  for (const char* single : {"null", "false", "true"})
    request(
        post("/v1/messages",
             str(R"({"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a"}],)",
                 R"("tool_choice":{"type":"auto","disable_parallel_tool_use":)", single, "}}")));
}

// Names of OpenAI's fields mean nothing here.
TEST_F(Api, MessagesReportsForeignFields) {
  const auto result = post("/v1/messages", R"({"messages":[{"role":"user","content":"x"}],"n":2})");
  ASSERT_TRUE(std::holds_alternative<Generation>(result));
  EXPECT_EQ(std::get<Generation>(result).headers, (HttpHeaders{{"x-ignored-fields", "n"}}));
}

TEST(AnthropicError, HasATypeForEachStatus) {
  const auto type_of = [](Status status) {
    return OrderedJson::parse(anthropic_error(error_reply(status)).body)["error"]["type"];
  };
  EXPECT_EQ(type_of({Code::invalid_request, "x", ""}), "invalid_request_error");
  EXPECT_EQ(type_of({Code::unauthorized, "x", ""}), "authentication_error");
  EXPECT_EQ(type_of({Code::not_found, "x", ""}), "not_found_error");
  EXPECT_EQ(type_of({Code::queue_full, "x", ""}), "rate_limit_error");
  EXPECT_EQ(type_of({Code::unavailable, "x", ""}), "overloaded_error");
  EXPECT_EQ(type_of({Code::internal, "x", ""}), "api_error");
}

}  // namespace
}  // namespace mlxforge
