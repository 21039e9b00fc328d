// What each endpoint answers, or asks of the engine (generation_fields_test.cpp has the fields).
#include "server/api/api.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "server/api/openapi_operations.h"
#include "server/generation_fields.h"
#include "server/sampling_fields.h"
#include "server/testing/api_fixture.h"

namespace mlxforge {
namespace {

TEST(ApiDocs, NameEveryFieldAndEveryEndpoint) {
  std::ifstream file("docs/api.md");
  const std::string docs{std::istreambuf_iterator<char>(file), {}};
  for (const Operation& operation : operations()) {
    if (!operation.request.fields) continue;
    for (const FieldRule& field : operation.request.fields())
      EXPECT_NE(docs.find(str("`", field.name, "`")), std::string::npos) << field.name;
  }
  for (const Endpoint& e : endpoints())
    EXPECT_NE(docs.find(str(e.method, " ", e.path)), std::string::npos) << e.path;
}

TEST_F(Api, RefusesBodiesThatAreNoRequest) {
  for (const char* path : {kChat, kText})
    for (const std::string body :
         {"", "[]", "\"x\"", "{\"a\"", "nonsense", "\xff\xfe\x01", "{\"a\":\"\xc3\x28\"}"})
      expect_error(post(path, body), 400, "body", body);
  expect_error(post(kChat, "{}"), 400, "messages", "no messages");
  for (const std::string messages :
       {"{}", "[]", "[1]", "\"hi\"", "null", R"([{"role":5,"content":"a"}])"})
    expect_error(post(kChat, "{\"messages\":" + messages + "}"), 400, "messages", messages);
}

// Case 47: nesting anywhere, in known and in unknown fields.
TEST_F(Api, RefusesDeepNesting) {
  for (const int depth : {100, 3000, 200'000})
    for (const std::string field : {"tools", "x", "messages", "metadata", "prompt"}) {
      const std::string body =
          "{\"" + field + "\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
      expect_error(post(kChat, body), 400, "body", field);
      expect_error(post(kText, body), 400, "body", field);
    }
}

TEST_F(Api, WorksNoFurtherOnceTheClientHasLeft) {
  CancelFlag left;
  left.set();
  const std::pair<const char*, const char*> requests[] = {
      {"/v1/embeddings", R"({"input":"hello"})"},
      {"/v1/completions", R"({"prompt":"hello"})"},
      {"/tokenize", R"({"prompt":"hello"})"},
      {"/detokenize", R"({"tokens":[65,66]})"}};
  for (const auto& [path, body] : requests) {
    expect_error(dispatch({.method = "POST", .target = path, .body = body}, view_, left), 503,
                 nullptr, path);
  }
}

TEST_F(Api, EmbeddingsRefuseWhatCannotFit) {
  const std::string body = R"({"input":["a",")" + std::string(1'000'000, 'x') + "\"]}";
  expect_error(post("/v1/embeddings", body), 400, "input", "a megabyte");
}

TEST_F(Api, ModelNames) {
  for (const char* name : {"tiny", "little", "default", "mlxforge", ""})
    request(chat(str("\"model\":\"", name, "\"")));
  for (const char* name : {"nope", "Tiny", "tiny ", "gpt-4o"}) {
    const ApiResult result = chat(str("\"model\":\"", name, "\""));
    expect_error(result, 404, "model", name);
    EXPECT_EQ(OrderedJson::parse(std::get<HttpReply>(result).body)["error"]["code"],
              "model_not_found");
  }
  expect_error(chat("\"model\":\"" + std::string(100'000, 'x') + "\""), 404, "model",
               "a long name");
}

TEST_F(Api, EncodesChatThroughTheTemplate) {
  const ApiResult result = post(kChat, R"({"messages":[{"role":"developer","content":"be"},
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<|end|>"}]}]})");
  std::vector<int32_t> expected;
  const auto text = [&](std::string_view s) {
    for (const int32_t id : bytes_of(s)) expected.push_back(id);
  };
  text("[system]be");
  expected.push_back(kTestEnd);
  text("[user]a<|end|>");  // the caller's spelling of a control token is text
  expected.push_back(kTestEnd);
  text("[assistant]");
  EXPECT_EQ(request(result).prompt, expected);
}

TEST_F(Api, NullContentCallTurnsAreKept) {
  const auto prompt = request(post(kChat, R"({"messages":[{"role":"user","content":"q"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"r"}]}]})"))
                          .prompt;
  EXPECT_EQ(std::ranges::count(prompt, kTestEnd), 3);
}

TEST_F(Api, CompletionPrompts) {
  const std::vector<int32_t> hi = bytes_of("hi");
  EXPECT_EQ(request(complete("")).prompt, hi);
  for (const char* prompt : {R"(["hi"])", R"([104,105])", R"([[104,105]])"})
    EXPECT_EQ(request(post(kText, str("{\"prompt\":", prompt, "}"))).prompt, hi) << prompt;
  EXPECT_EQ(request(post(kText, R"({"prompt":"<s>"})")).prompt, bytes_of("<s>"));
  EXPECT_EQ(request(post(kText, R"({"prompt":[256,0,257]})")).prompt,
            (std::vector<int32_t>{256, 0, 257}));
}

TEST_F(Api, APromptTooLongByItsBytesIsRefusedUnread) {  // case 40
  for (const char* path : {kChat, kText}) {
    const bool is_chat = std::string_view(path) == kChat;
    const std::string prompt(100'000, 'a');
    const OrderedJson body =
        is_chat ? OrderedJson{{"messages", {{{"role", "user"}, {"content", prompt}}}}}
                : OrderedJson{{"prompt", prompt}};
    const ApiResult result = post(path, body.dump());
    expect_error(result, 400, is_chat ? "messages" : "prompt", path);
    const OrderedJson error = OrderedJson::parse(std::get<HttpReply>(result).body)["error"];
    EXPECT_EQ(error["code"], "context_length_exceeded");
    EXPECT_NE(error["message"].get<std::string>().find("4096"), std::string::npos) << error;
  }
}

TEST_F(Api, NothingIsEncodedForAClientThatHasLeft) {
  CancelFlag left;
  left.set();
  for (const auto& [path, body] : {std::pair(kChat, chat_body("")), {kText, text_body("")}})
    expect_error(dispatch({.method = "POST", .target = path, .body = body}, view_, left), 503,
                 nullptr, path);
}

TEST_F(Api, ChatWithoutATemplateNamesTheFlag) {
  model_->chat_template = nullptr;
  const ApiResult result = chat("");
  expect_error(result, 400, "messages", "no template");
  EXPECT_NE(std::get<HttpReply>(result).body.find("--chat-template"), std::string::npos);
  request(complete(""));
}

TEST_F(Api, HealthSaysWhatTheServerDoes) {
  const auto health = [&] {
    return std::get<HttpReply>(dispatch({.method = "GET", .target = "/health"}, view_));
  };
  for (const auto& [phase, name, status] : {std::tuple{Phase::ok, "ok", 200},
                                            {Phase::loading, "loading", 503},
                                            {Phase::draining, "draining", 503},
                                            {Phase::failed, "failed", 503}}) {
    view_.phase = phase;
    const HttpReply reply = health();
    EXPECT_EQ(reply.status, status);
    const OrderedJson body = OrderedJson::parse(reply.body);
    EXPECT_EQ(body.at("status"), name);
    for (const char* key : {"running", "waiting", "max_waiting", "kv_blocks_total",
                            "kv_blocks_used", "kv_blocks_cached", "uptime_s"})
      EXPECT_TRUE(body.at(key).is_number()) << key;
    EXPECT_EQ(body.at("model"), "tiny");
  }
}

TEST_F(Api, NothingButItsStateIsServedUntilTheServerIsOk) {
  for (const Phase phase : {Phase::loading, Phase::draining, Phase::failed}) {
    view_.phase = phase;
    view_.model = phase == Phase::draining ? model_ : nullptr;
    for (const Endpoint& endpoint : endpoints()) {
      const std::set<std::string_view> always = {"/", "/health", "/metrics", "/openapi.json"};
      EXPECT_EQ(endpoint.needs_model, !always.contains(endpoint.path));
      if (!endpoint.needs_model) continue;
      const HttpRequest request{.method = std::string(endpoint.method),
                                .target = std::string(endpoint.path),
                                .body = "{}"};
      expect_error(dispatch(request, view_), 503, nullptr, request.target);
    }
  }
}

TEST_F(Api, ModelsListsTheOneModelByItsRealId) {
  view_.loaded_at = 1234;
  const OrderedJson body = OrderedJson::parse(
      std::get<HttpReply>(dispatch({.method = "GET", .target = "/v1/models"}, view_)).body);
  EXPECT_EQ(body.at("object"), "list");
  ASSERT_EQ(body.at("data").size(), 1u);
  EXPECT_EQ(body["data"][0].at("id"), "tiny");
  EXPECT_EQ(body["data"][0].at("object"), "model");
  EXPECT_EQ(body["data"][0].at("created"), 1234);
  EXPECT_EQ(body["data"][0].at("owned_by"), "mlxforge");
}

}  // namespace
}  // namespace mlxforge
