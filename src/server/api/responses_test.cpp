// The input of /v1/responses: what reaches the template, and what is refused.
#include <gtest/gtest.h>

#include "server/api/input_items.h"
#include "server/api/responses_input.h"
#include "server/testing/api_fixture.h"

namespace mlxforge {
namespace {

const std::string kResponses = "/v1/responses";

TEST(ResponsesInput, ItemsBecomeMessages) {
  OrderedJson messages = OrderedJson::array();
  ASSERT_TRUE(append_input("hi", messages).ok());
  ASSERT_TRUE(append_input(OrderedJson::parse(R"([
      {"role":"assistant","content":[{"type":"output_text","text":"I look."}]},
      {"type":"function_call","call_id":"a","name":"weather","arguments":"{\"city\":\"Paris\"}"},
      {"type":"function_call","call_id":"b","name":"time","arguments":"{}"},
      {"type":"function_call_output","call_id":"a","output":"sun"},
      {"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"9"}]},
      {"type":"reasoning","id":"r","summary":[]},
      {"type":"reasoning","id":"s","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},
      {"type":"function_call","call_id":"c","name":"time","arguments":"{}"},
      {"type":"message","role":"developer","content":"Be brief."},
      {"type":"reasoning","id":"t","summary":[{"type":"summary_text","text":"So."}]},
      {"type":"message","role":"assistant","content":"Yes."}])"),
                           messages)
                  .ok());
  EXPECT_EQ(messages, OrderedJson::parse(R"([
      {"role":"user","content":"hi"},
      {"role":"assistant","content":[{"type":"text","text":"I look."}],"tool_calls":[
        {"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},
        {"id":"b","type":"function","function":{"name":"time","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"a","content":"sun"},
      {"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"9"}]},
      {"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[
        {"id":"c","type":"function","function":{"name":"time","arguments":"{}"}}]},
      {"role":"developer","content":"Be brief."},
      {"role":"assistant","content":"Yes.","reasoning_content":"So."}])"));
}

TEST_F(Api, ResponsesRefuses) {
  for (const std::string input :
       {"null", "5", "[]", "{}", "[5]", R"([{"role":"tool","content":"x"}])",
        R"([{"role":"user"}])", R"([{"role":"user","content":[5]}])",
        R"([{"role":"user","content":[{"type":"input_file"}]}])",
        R"([{"role":"user","content":[{"type":"input_text"}]}])", R"([{"type":"item_reference"}])",
        R"([{"type":"function_call","call_id":"a","name":"b","arguments":{}}])",
        R"([{"type":"function_call","call_id":"a","arguments":"{}"}])",
        R"([{"type":"function_call_output","output":"x"}])",
        R"([{"type":"function_call_output","call_id":"a"}])",
        R"([{"type":5,"role":"user","content":"x"}])", R"([{"type":"reasoning","summary":[]}])"})
    expect_error(post(kResponses, "{\"input\":" + input + "}"), 400, "input", input);
  const std::pair<const char*, const char*> fields[] = {
      {"previous_response_id", "\"resp_0\""},
      {"text", R"({"verbosity":"low"})"},
      {"text", R"({"format":{"type":"json_schema"}})"},
      {"text", R"({"format":{"type":"json_schema","schema":{"not":{}}}})"},
      {"text", R"({"format":{"type":"json_schema","schema":{},"strict":1}})"},
      {"text", R"({"format":{"type":"xml"}})"},
      {"max_output_tokens", "0"},
      {"tools", R"([{"type":"web_search"}])"},
      {"tools", "[5]"},
      {"tool_choice", "\"any\""},
      {"tool_choice", R"({"type":"function"})"},
      {"include", "[\"x\"]"},
      {"background", "true"},
      {"reasoning", R"({"effort":"low"})"},  // of a model that does not reason
      {"reasoning", R"({"effort":"much"})"},
      {"reasoning", R"({"summary":"detailed"})"},
      {"conversation", "\"c\""},
      {"metadata", "5"}};
  for (const auto& [name, value] : fields)
    expect_error(post(kResponses, str("{\"input\":\"x\",\"", name, "\":", value, "}")), 400, name,
                 str(name, value));
}

TEST(InputItems, LackNothingThatTheClientLeftOut) {
  const OrderedJson items = listed_items(OrderedJson::parse(
      R"([{"type":null,"status":null,"id":null,"role":"user","content":"hi"}])"));
  EXPECT_EQ(items[0]["type"], "message");
  EXPECT_EQ(items[0]["status"], "completed");
  EXPECT_TRUE(items[0]["id"].is_string());
  EXPECT_EQ(items[0]["content"], OrderedJson::parse(R"([{"type":"input_text","text":"hi"}])"));
}

TEST_F(Api, InputItemsReadsItsQueryDecoded) {
  view_.responses->put("resp_1", {.input = R"([{"id":"a b"},{"id":"c"},{"id":"d"}])"});
  const auto list = [&](const std::string& query) {
    return dispatch({.method = "GET", .target = kResponses + "/resp_1/input_items?" + query},
                    view_);
  };
  const auto found = list("order=%61sc&after=a%20b&limi%74=%31");
  const OrderedJson page = OrderedJson::parse(std::get<HttpReply>(found).body);
  EXPECT_EQ(page["data"], OrderedJson::parse(R"([{"id":"c"}])"));
  EXPECT_EQ(page["has_more"], true);
  for (const char* limit : {"", "0", "101", "x", "1x", "1.5", "99999999999999999999"})
    expect_error(list(str("limit=", limit)), 400, "limit", limit);
  expect_error(list("after=5"), 400, "after", "no such item");
  expect_error(list("page=5"), 400, "page", "unknown");
}

TEST_F(Api, ResponsesThatAreNotKept) {
  for (const char* method : {"GET", "DELETE"})
    expect_error(dispatch({.method = method, .target = kResponses + "/resp_0"}, view_), 404, "id",
                 method);
}

}  // namespace
}  // namespace mlxforge
