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
    ASSERT_TRUE(std::holds_alternative<const Endpoint*>(found)) << endpoint.path;
    EXPECT_EQ(std::get<const Endpoint*>(found), &endpoint);
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
         {path + "/", "/" + path, "/v1/.." + path, "/." + path, path + "/..", upper, escaped,
          path + "%00", path + ";a", path + "#a", path + " ", path.substr(1), "http://host" + path,
          path + "%3Fx", "/v1/models/.." + path})
      EXPECT_EQ(status_of(endpoint.method, other), 404) << other;
  }
  for (const char* other : {"", "/.", "/..", "/%2f", "*", "?", "//", "/v1", "/v1/"})
    EXPECT_EQ(status_of("GET", other), 404) << other;
}

TEST(Router, SaysWhichMethodsAPathTakes) {
  for (const Endpoint& endpoint : endpoints())
    for (const char* method :
         {"DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "NONSENSE"}) {
      const auto found = route(endpoints(), method, endpoint.path);
      ASSERT_TRUE(std::holds_alternative<HttpReply>(found));
      const HttpReply& reply = std::get<HttpReply>(found);
      EXPECT_EQ(reply.status, 405);
      EXPECT_EQ(reply.headers.at(0).first, "Allow");
      EXPECT_EQ(reply.headers.at(0).second, endpoint.method);
      EXPECT_TRUE(OrderedJson::parse(reply.body)["error"]["message"].is_string());
    }
}

TEST(Router, HeadGoesWhereGetGoes) {
  EXPECT_EQ(status_of("HEAD", "/health"), 0);
  EXPECT_EQ(status_of("HEAD", "/v1/completions"), 405);
}

}  // namespace
}  // namespace mlxforge
