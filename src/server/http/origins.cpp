#include "server/http/origins.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

namespace mlxforge {
namespace {

using boost::beast::iequals;

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::any_of(list, [&](const std::string& one) { return iequals(one, text); });
}

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view name) {
  boost::system::error_code ec;
  boost::asio::ip::make_address(std::string(name), ec);
  return !ec || name.starts_with('[');
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  return iequals(origin, str("http://", host)) || iequals(origin, str("https://", host));
}

// For a message: what the client sent, within bounds.
std::string shown(std::string_view text) { return std::string(text.substr(0, 100)); }

}  // namespace

bool Origins::lists(std::string_view origin) const {
  return !origin.empty() && (contains(listed_, "*") || contains(listed_, origin));
}

// Rebinding takes a name of the attacker's in the public DNS. Addresses, localhost and names
// without a dot are none.
bool Origins::is_own_name(std::string_view host) const {
  const std::string_view name = without_port(host);
  return name.find('.') == name.npos || is_address(name) || name.ends_with(".localhost") ||
         contains(hosts_, name);
}

Status Origins::check(const HttpRequest& request) const {
  if (!loopback_) return {};
  const std::string_view host = request.header("host"), origin = request.header("origin");
  if (!is_own_name(host))
    return {Code::forbidden,
            str("this server listens on a loopback address and does not answer to the name '",
                shown(host), "'; start it with --allowed-host NAME"),
            ""};
  if (!origin.empty() && !lists(origin) && !is_same_origin(origin, host))
    return {Code::forbidden,
            str("pages of '", shown(origin),
                "' may not use this server; start it with --cors-origin ORIGIN"),
            ""};
  return {};
}

bool Origins::is_preflight(const HttpRequest& request) const {
  return request.method == "OPTIONS" && lists(request.header("origin")) &&
         !request.header("access-control-request-method").empty();
}

HttpReply Origins::preflight(const HttpRequest& request) const {
  HttpReply reply{.content_type = "text/plain"};
  reply.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE"},
                   {"Access-Control-Max-Age", "600"}};
  if (const auto wanted = request.header("access-control-request-headers"); !wanted.empty())
    reply.headers.emplace_back("Access-Control-Allow-Headers", wanted);
  return reply;
}

HttpHeaders Origins::headers(const HttpRequest& request) const {
  if (listed_.empty()) return {};
  HttpHeaders headers = {{"Vary", "Origin"}};
  const std::string_view origin = request.header("origin");
  if (!lists(origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Access-Control-Expose-Headers",
                       "Retry-After, x-ignored-fields, x-request-id");
  return headers;
}

}  // namespace mlxforge
