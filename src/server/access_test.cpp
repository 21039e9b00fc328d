#include "server/access.h"

#include <gtest/gtest.h>

#include "server/api/api.h"
#include "server/testing/test_server.h"

namespace mlxforge {
namespace {

using std::chrono::microseconds;

constexpr char kOrigin[] = "https://chat.example";

AccessRules rules_with_keys() {
  AccessRules rules{.cors_origins = {kOrigin}};
  rules.keys.add("sk-secret", "alice");
  rules.keys.add("sk-other");
  return rules;
}

// The status of a refusal, or 0.
int refusal(const Access& access, const HttpRequest& request) {
  const Endpoint* endpoint = endpoint_of(request);
  const auto admitted = access.admit(request, endpoint && endpoint->is_public);
  const auto* reply = std::get_if<HttpReply>(&admitted);
  return reply ? reply->status : 0;
}

int status_with(const Access& access, HttpRequest request, const char* name, std::string value) {
  request.headers.emplace_back(name, std::move(value));
  return refusal(access, request);
}

// Case 48.
TEST(Access, EveryPathButThePublicOnesNeedsAKey) {
  const Access access(rules_with_keys(), true);
  std::vector<HttpRequest> requests;
  for (const Endpoint& e : endpoints()) {
    const std::string path(e.path);
    for (const char* method : {"GET", "POST", "HEAD", "OPTIONS", "DELETE", "PUT", "TRACE"})
      for (const std::string& target : {path, "/" + path, "/v1/.." + path, path + "/", path + "?a"})
        requests.push_back({.method = method, .target = target});
  }
  requests.push_back({.method = "GET", .target = "/no/such/path"});
  for (const HttpRequest& request : requests) {
    const std::string_view path =
        std::string_view(request.target).substr(0, request.target.find('?'));
    const bool open =
        (path == "/" || path == "/health") && (request.method == "GET" || request.method == "HEAD");
    const int expected = open ? 0 : 401;
    EXPECT_EQ(refusal(access, request), expected) << request.method << request.target;
    for (const char* wrong :
         {"Bearer", "Bearer ", "Bearer sk-secre", "Bearer sk-secrett", "sk-secret",
          "Bearer  sk-secret", "Basic sk-secret", "bearer sk-wrong", "Bearer alice"})
      EXPECT_EQ(status_with(access, request, "authorization", wrong), expected) << wrong;
    for (const char* wrong : {"sk-secre", "Bearer sk-secret"})
      EXPECT_EQ(status_with(access, request, "x-api-key", wrong), expected) << wrong;
    for (const char* right : {"Bearer sk-secret", "bearer sk-secret", "Bearer sk-other"})
      EXPECT_EQ(status_with(access, request, "authorization", right), 0);
    EXPECT_EQ(status_with(access, request, "x-api-key", "sk-other"), 0);
  }
}

TEST(Access, WithoutKeysEverybodyMayAsk) {
  const Access access({}, false);
  for (const Endpoint& e : endpoints())
    EXPECT_EQ(refusal(access, {.method = std::string(e.method), .target = std::string(e.path)}), 0);
}

TEST(Access, AnswersPreflightsOfListedOriginsWithoutAKey) {
  const Access access(rules_with_keys(), false);
  HttpRequest preflight{
      .method = "OPTIONS",
      .target = kChat,
      .headers = {{"origin", kOrigin},
                  {"access-control-request-method", "POST"},
                  {"access-control-request-headers", "authorization,x-stainless-os"}}};
  const auto admitted = access.admit(preflight, false);
  const auto* reply = std::get_if<HttpReply>(&admitted);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  const std::pair<std::string, std::string> allowed("Access-Control-Allow-Headers",
                                                    "authorization,x-stainless-os");
  EXPECT_NE(std::ranges::find(reply->headers, allowed), reply->headers.end());
  for (const char* other : {"https://chat.example.evil", "http://chat.example", "null", ""}) {
    preflight.headers[0].second = other;
    EXPECT_EQ(refusal(access, preflight), 401) << other;
    const HttpHeaders headers = access.headers(preflight);
    EXPECT_EQ(headers.size(), 1u) << "Vary only";
  }
}

// A page of another site, or one whose name an attacker's DNS points at this machine.
TEST(Access, ALoopbackServerRefusesOtherNamesAndOrigins) {
  const Access local({.cors_origins = {kOrigin}, .allowed_hosts = {"proxy.example"}}, true);
  const Access open({}, false);
  const auto ask = [](const Access& access, const char* host, const char* origin) {
    HttpRequest request{.method = "GET", .target = "/health", .headers = {{"host", host}}};
    if (*origin) request.headers.emplace_back("origin", origin);
    return refusal(access, request);
  };
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:80", "LOCALHOST",
                           "a.localhost", "box", "proxy.example:8080", "192.168.1.5"})
    EXPECT_EQ(ask(local, host, ""), 0) << host;
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                           "localhost.evil.example", "proxy.example.evil", "1.2.3"}) {
    EXPECT_EQ(ask(local, host, ""), 403) << host;
    EXPECT_EQ(ask(open, host, ""), 0) << host;
  }
  for (const char* origin : {"http://127.0.0.1:8080", "https://127.0.0.1:8080", kOrigin})
    EXPECT_EQ(ask(local, "127.0.0.1:8080", origin), 0) << origin;
  for (const char* origin : {"null", "http://127.0.0.1", "http://127.0.0.1:80801",
                             "https://evil.example", "http://localhost:8080"}) {
    EXPECT_EQ(ask(local, "127.0.0.1:8080", origin), 403) << origin;
    EXPECT_EQ(ask(open, "127.0.0.1:8080", origin), 0) << origin;
  }
  EXPECT_EQ(ask(Access({.cors_origins = {"*"}}, true), "localhost", "https://any.example"), 0);
}

// Over the wire: answers, refusals and streams alike carry the headers.
TEST(Access, ListedOriginsMayReadEveryAnswer) {
  TestServer test(always(say("hi")), {}, {}, rules_with_keys());
  test.engine->run(microseconds(100));
  HttpClient client(test.port);
  const auto ask = [&](const char* key, const std::string& body) {
    client.send(str("POST ", kChat, " HTTP/1.1\r\nHost: localhost\r\nOrigin: ", kOrigin,
                    "\r\nAuthorization: Bearer ", key, "\r\nContent-Length: ", body.size(),
                    "\r\n\r\n", body));
    return client.read();
  };
  for (const auto& [key, body, status] :
       {std::tuple{"sk-secret", chat_body(), 200}, std::tuple{"sk-secret", chat_body(kStream), 200},
        std::tuple{"sk-secret", std::string("{}"), 400}, std::tuple{"wrong", chat_body(), 401}}) {
    const HttpAnswer answer = ask(key, body);
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.headers.at("access-control-allow-origin"), kOrigin);
    EXPECT_EQ(answer.headers.at("vary"), "Origin");
  }
  const HttpAnswer refused = client.post(kChat, chat_body());
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer");
  EXPECT_FALSE(refused.headers.contains("access-control-allow-origin"));
  EXPECT_EQ(OrderedJson::parse(refused.body)["error"]["code"], "invalid_api_key");
  EXPECT_EQ(client.get("/health").status, 200);
}

}  // namespace
}  // namespace mlxforge
