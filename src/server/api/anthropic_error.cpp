#include "server/api/anthropic_error.h"

#include "server/json.h"

namespace mlxforge {
namespace {

struct Kind {
  int http;
  const char* type;
};

constexpr Kind kKinds[] = {
    {401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
    {413, "request_too_large"},    {429, "rate_limit_error"}, {503, "overloaded_error"},
};

const char* type_of(int http_status) {
  for (const Kind& kind : kKinds)
    if (kind.http == http_status) return kind.type;
  return http_status < 500 ? "invalid_request_error" : "api_error";
}

}  // namespace

HttpReply anthropic_error(HttpReply reply) {
  const OrderedJson told = OrderedJson::parse(reply.body).at("error");
  const OrderedJson error = {{"type", type_of(reply.status)}, {"message", told.at("message")}};
  reply.body = to_text({{"type", "error"}, {"error", error}});
  return reply;
}

}  // namespace mlxforge
