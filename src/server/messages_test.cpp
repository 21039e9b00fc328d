#include "server/messages.h"

#include <gtest/gtest.h>

namespace mlxforge {
namespace {

TEST(Messages, RefusesWhatIsNoConversation) {
  for (const char* text : {
           R"({})",
           R"("hi")",
           R"(1)",
           R"([])",
           R"([1])",
           R"([null])",
           R"([[]])",
           R"([{}])",
           R"([{"role":5,"content":"a"}])",
           R"([{"role":"user"}])",
           R"([{"role":"user","content":null}])",
           R"([{"role":"user","content":5}])",
           R"([{"role":"user","content":{}}])",
           R"([{"role":"wizard","content":"a"}])",
           R"([{"role":"","content":"a"}])",
           R"([{"content":"a"}])",
           R"([{"role":"user","content":[1]}])",
           R"([{"role":"user","content":[{"text":"a"}]}])",
           R"([{"role":"user","content":[{"type":"text"}]}])",
           R"([{"role":"user","content":[{"type":"text","text":5}]}])",
           R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
           R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio"}]}])",
           R"([{"role":"tool","content":null}])",
           R"([{"role":"assistant","content":null,"tool_calls":{}}])",
           R"([{"role":"assistant","content":null,"tool_calls":[1]}])",
           R"([{"role":"user","content":"a"},{"role":"x","content":"a"}])",
           R"([{"role":"assistant","tool_calls":[{}]}])",
           R"([{"role":"assistant","tool_calls":[{"function":5}]}])",
           R"([{"role":"assistant","tool_calls":[{"function":"f"}]}])",
           R"([{"role":"assistant","tool_calls":[{"function":{}}]}])",
           R"([{"role":"assistant","tool_calls":[{"function":{"name":5}}]}])",
           R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":5}}]}])",
           R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[]}}]}])",
           R"([{"role":"assistant","tool_calls":[{"id":5,"function":{"name":"f"}}]}])",
           R"([{"role":"assistant","tool_calls":[{"type":"x","function":{"name":"f"}}]}])",
           R"([{"role":"user","content":"a","tool_calls":[{"function":{"name":"f"}}]}])",
           R"([{"role":"tool","content":"a","tool_call_id":5}])",
           R"([{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}])",
           R"([{"role":"assistant","content":null,"audio":{"id":"audio_1"}}])",
       }) {
    OrderedJson messages = OrderedJson::parse(text);
    const Status status = normalise_messages(messages);
    EXPECT_EQ(status.code, Code::invalid_request) << text;
    EXPECT_EQ(status.param, "messages") << text;
  }
}

TEST(Messages, BringsEveryAcceptedFormToTheTemplatesForm) {
  struct {
    const char *sent, *expected;
  } cases[] = {
      {R"([{"role":"user","content":"a"}])", R"([{"role":"user","content":"a"}])"},
      {R"([{"content":"a","role":"user","name":"bob"}])",
       R"([{"content":"a","role":"user","name":"bob"}])"},
      {R"([{"role":"user","content":[]}])", R"([{"role":"user","content":""}])"},
      {R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])",
       R"([{"role":"user","content":"ab"}])"},
      {R"([{"role":"tool","content":[{"text":"a","type":"text"},{"type":"text","text":"b"}],"tool_call_id":"1"}])",
       R"([{"role":"tool","content":"ab","tool_call_id":"1"}])"},
      {R"([{"role":"developer","content":"a"}])", R"([{"role":"system","content":"a"}])"},
      {R"([{"role":"assistant","content":null}])", R"([{"role":"assistant","content":""}])"},
      {R"([{"role":"assistant"}])", R"([{"role":"assistant","content":""}])"},
      {R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"b\":1,\"a\":[2]}"}}]}])",
       R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":[2]}}}]}])"},
      {R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"no json"}}]}])",
       R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"no json"}}]}])"},
      {R"([{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f"}}]}])",
       R"([{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{}}}],"content":null}])"},
      {R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":""}}]}])",
       R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{}}}]}])"},
      {R"([{"role":"assistant","content":null,"tool_calls":[{"id":null,"type":null,"function":{"name":"f"}}]}])",
       R"([{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{}}}]}])"},
      // An answer as the openai package dumps it.
      {R"([{"content":"x","refusal":null,"role":"assistant","annotations":[],"audio":null,"function_call":null,"tool_calls":null}])",
       R"([{"content":"x","role":"assistant","annotations":[]}])"},
      {R"([{"role":"assistant","content":"x","tool_calls":[]}])",
       R"([{"role":"assistant","content":"x"}])"},
      {R"([{"role":"user","content":"x","name":null,"tool_call_id":null}])",
       R"([{"role":"user","content":"x"}])"},
  };
  for (const auto& c : cases) {
    OrderedJson messages = OrderedJson::parse(c.sent);
    const Status status = normalise_messages(messages);
    EXPECT_TRUE(status.ok()) << c.sent << ": " << status.message;
    EXPECT_EQ(messages.dump(), c.expected);
  }
}

}  // namespace
}  // namespace mlxforge
