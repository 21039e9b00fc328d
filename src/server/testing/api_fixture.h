// The endpoints without a network, over a model of bytes: for tests of what each body is answered
// with, or what it asks of the engine.
#pragma once

#include <gtest/gtest.h>

#include "server/api/api.h"
#include "server/json.h"
#include "server/testing/bodies.h"
#include "server/testing/fake_engine.h"
#include "server/testing/test_model.h"

namespace mlxforge {

class Api : public testing::Test {
 protected:
  Api() : engine_([](auto) {}, [](auto&) { return Script{}; }, {}), model_(test_model(&engine_)) {
    view_.phase = Phase::ok;
    view_.model = model_;
    view_.metrics = &metrics_;
    view_.responses = std::make_shared<ResponseStore>();
  }

  ApiResult post(const std::string& path, const std::string& body) {
    return dispatch({.method = "POST", .target = path, .body = body}, view_);
  }
  // The fields beside a minimal input: "\"seed\":1" and so on.
  ApiResult chat(const std::string& fields) { return post(kChat, chat_body(fields)); }
  ApiResult complete(const std::string& fields) { return post(kText, text_body(fields)); }

  static Request request(const ApiResult& result) {
    const auto* generation = std::get_if<Generation>(&result);
    if (!generation) throw std::runtime_error("refused: " + std::get<HttpReply>(result).body);
    return generation->requests.at(0);
  }

  static void expect_error(const ApiResult& result, int status, const OrderedJson& param,
                           const std::string& what) {
    const auto* reply = std::get_if<HttpReply>(&result);
    ASSERT_TRUE(reply) << what << " was accepted";
    EXPECT_EQ(reply->status, status) << what << reply->body;
    EXPECT_EQ(reply->content_type, "application/json");
    const OrderedJson error = OrderedJson::parse(reply->body).at("error");
    EXPECT_EQ(error.size(), 4u);
    EXPECT_TRUE(error.at("message").is_string() && !error.at("message").get<std::string>().empty());
    EXPECT_TRUE(error.at("type").is_string());
    EXPECT_EQ(error.at("param"), param) << what << reply->body;
    EXPECT_TRUE(error.contains("code"));
  }

  FakeEngine engine_;
  std::shared_ptr<ModelContext> model_;
  Metrics metrics_;
  ServerState::View view_;
};

}  // namespace mlxforge
