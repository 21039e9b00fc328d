#include "server/router.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "server/error.h"

namespace mlxforge {
namespace {

// The argument when `path` is one of the endpoint's; "" where it takes none.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
  const size_t brace = pattern.find('{');
  if (brace == pattern.npos) return path == pattern ? std::optional<std::string>("") : std::nullopt;
  const std::string_view before = pattern.substr(0, brace);
  const std::string_view behind = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) ||
      !path.ends_with(behind))
    return std::nullopt;
  path.remove_prefix(before.size());
  path.remove_suffix(behind.size());
  if (path.find('/') != path.npos) return std::nullopt;
  return percent_decoded(path);
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  const auto digit = [&](size_t i) {
    const auto c = static_cast<unsigned char>(i < text.size() ? text[i] : 0);
    return !std::isxdigit(c) ? -1 : std::isdigit(c) ? c - '0' : std::tolower(c) - 'a' + 10;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && digit(i + 1) >= 0 && digit(i + 2) >= 0;
    out += escape ? static_cast<char>(digit(i + 1) * 16 + digit(i + 2)) : text[i];
    if (escape) i += 2;
  }
  return out;
}

std::variant<Route, HttpReply> route(std::span<const Endpoint> endpoints, std::string_view method,
                                     std::string_view target) {
  const size_t question = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, question);
  const std::string_view query = target.substr(std::min(question + 1, target.size()));
  if (method == "HEAD") method = "GET";
  std::string allowed;
  for (const Endpoint& endpoint : endpoints) {
    auto argument = match(endpoint.path, path);
    if (!argument) continue;
    if (endpoint.method == method) return Route{&endpoint, std::move(*argument), query};
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
