#include "server/router.h"

#include "server/error.h"

namespace mlxforge {

std::variant<const Endpoint*, HttpReply> route(std::span<const Endpoint> endpoints,
                                               std::string_view method, std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (method == "HEAD") method = "GET";
  std::string allowed;
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.path != path) continue;
    if (endpoint.method == method) return &endpoint;
    if (!allowed.empty()) allowed += ", ";
    allowed += endpoint.method;
  }
  if (allowed.empty())
    return plain_error(404, "no such path; GET /v1/models is one that exists", "not_found");
  HttpReply reply = plain_error(405, "this path takes " + allowed, "method_not_allowed");
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

}  // namespace mlxforge
