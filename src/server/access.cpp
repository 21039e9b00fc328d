#include "server/access.h"

#include <boost/beast/core/string.hpp>

#include "server/error.h"

namespace mlxforge {
namespace {

// The key as OpenAI's clients send it (RFC 6750; a scheme's case does not matter), else as
// Anthropic's do.
std::string_view key_of(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view sent = request.header("authorization");
  if (sent.empty()) return request.header("x-api-key");
  if (!boost::beast::iequals(sent.substr(0, kBearer.size()), kBearer)) return {};
  return sent.substr(kBearer.size());
}

HttpReply unauthorized(bool sent_one) {
  HttpReply reply = error_reply(
      {Code::unauthorized,
       sent_one ? "this is not one of the server's API keys"
                : "an API key is needed: send the header Authorization: Bearer KEY, or x-api-key",
       ""});
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace

std::variant<Caller, HttpReply> Access::admit(const HttpRequest& request, bool is_public) const {
  if (const Status status = origins_.check(request); !status.ok()) return error_reply(status);
  if (origins_.is_preflight(request)) return origins_.preflight(request);
  if (is_public || keys_.empty()) return Caller{};
  const std::string_view key = key_of(request);
  const ApiKeys::Entry* found = keys_.find(key);
  if (!found) return unauthorized(!key.empty());
  return Caller{.key = found->name, .number = found->number};
}

}  // namespace mlxforge
