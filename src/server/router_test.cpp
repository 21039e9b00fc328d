#include "server/router.h"

#include <gtest/gtest.h>

#include "server/json.h"

namespace mlxforge {
namespace {

int status_of(std::string_view method, std::string_view target) {
  const auto found = route(endpoints(), method, target);
  const auto* reply = std::get_if<HttpReply>(&found);
  return reply ? reply->status : 0;
}

TEST(Router, FindsEveryListedEndpointByItsOwnMethodAndPath) {
  for (const Endpoint& endpoint : endpoints()) {
    const auto found = route(endpoints(), endpoint.method, endpoint.path);
    ASSERT_TRUE(std::holds_alternative<Route>(found)) << endpoint.path;
    EXPECT_EQ(std::get<Route>(found).endpoint, &endpoint);
    EXPECT_EQ(status_of(endpoint.method, std::string(endpoint.path) + "?a=/b/../c"), 0);
  }
}

// Each endpoint's path in other spellings that some servers take for the same one.
TEST(Router, NoOtherSpellingOfAPathReachesAHandler) {
  for (const Endpoint& endpoint : endpoints()) {
    const std::string path(endpoint.path);
    if (path == "/") continue;  // it has no letter; its other spellings are below
    std::string upper = path, escaped = path;
    upper[1] = static_cast<char>(std::toupper(upper[1]));
    escaped.replace(1, 1, path[1] == 'v' ? "%76" : "%68");
    for (const std::string& other :
         {path + "/", "/" + path, "/v1/.." + path, "/." + path, path + "/../x", upper, escaped,
          path.substr(1), "http://host" + path, "/v1/models/.." + path})
      EXPECT_EQ(status_of(endpoint.method, other), 404) << other;
    if (path.ends_with('}')) continue;  // what follows belongs to the argument
    for (const char* more : {"%00", ";a", "#a", " ", "%3Fx"})
      EXPECT_EQ(status_of(endpoint.method, path + more), 404) << path << more;
  }
  for (const char* other : {"", "/.", "/..", "/%2f", "*", "?", "//", "/v1", "/v1/"})
    EXPECT_EQ(status_of("GET", other), 404) << other;
}

TEST(Router, SaysWhichMethodsAPathTakes) {
  for (const Endpoint& endpoint : endpoints())
    for (const char* method :
         {"DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "NONSENSE"}) {
      const auto found = route(endpoints(), method, endpoint.path);
      if (std::holds_alternative<Route>(found)) {
        EXPECT_EQ(std::get<Route>(found).endpoint->method, method);
        continue;
      }
      const HttpReply& reply = std::get<HttpReply>(found);
      EXPECT_EQ(reply.status, 405);
      EXPECT_EQ(reply.headers.at(0).first, "Allow");
      EXPECT_NE(reply.headers.at(0).second.find(endpoint.method), std::string::npos);
      EXPECT_TRUE(OrderedJson::parse(reply.body)["error"]["message"].is_string());
    }
}

TEST(Router, AnArgumentIsOneSegmentPercentDecoded) {
  const std::pair<const char*, const char*> cases[] = {
      {"a", "a"},       {"a%20b?x=/y", "a b"}, {"org%2Fmodel%2f", "org/model/"},
      {"100%", "100%"}, {"%4", "%4"},          {"%zz%41", "%zzA"},
      {"..", ".."}};
  for (const auto& [segment, argument] : cases) {
    const auto found = route(endpoints(), "GET", str("/v1/responses/", segment));
    ASSERT_TRUE(std::holds_alternative<Route>(found)) << segment;
    EXPECT_EQ(std::get<Route>(found).argument, argument);
  }
  const auto items = route(endpoints(), "GET", "/v1/responses/a%20b/input_items?limit=5&order=asc");
  ASSERT_TRUE(std::holds_alternative<Route>(items));
  EXPECT_EQ(std::get<Route>(items).endpoint->path, "/v1/responses/{id}/input_items");
  EXPECT_EQ(std::get<Route>(items).argument, "a b");
  EXPECT_EQ(std::get<Route>(items).query, "limit=5&order=asc");
  for (const char* target : {"/v1/responses//input_items", "/v1/responses/a/b/input_items",
                             "/v1/responses/a/input_items/", "/v1/responses/", "/v1/models/?a",
                             "/v1/models/a/", "/v1/models/a/b"})
    EXPECT_EQ(status_of("GET", target), 404) << target;
}

TEST(Router, HeadGoesWhereGetGoes) {
  EXPECT_EQ(status_of("HEAD", "/health"), 0);
  EXPECT_EQ(status_of("HEAD", "/v1/completions"), 405);
}

}  // namespace
}  // namespace mlxforge
