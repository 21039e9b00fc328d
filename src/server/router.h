// Method and path -> endpoint. Paths match byte for byte: nothing is decoded, collapsed or trimmed,
// so `//`, `..`, `%2f` and a trailing slash never reach a handler by another name. A query string
// is cut off. HEAD goes where GET goes. An endpoint's segment in braces, as in
// "/v1/models/{model}", stands for any one segment, which its handler gets percent-decoded.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "server/api/api.h"
#include "server/http/message.h"

namespace mlxforge {

struct Route {
  const Endpoint* endpoint;
  std::string argument;    // what stands in the place of the braces
  std::string_view query;  // part of the target
};

// The endpoint, or the 404 or 405 reply.
std::variant<Route, HttpReply> route(std::span<const Endpoint> endpoints, std::string_view method,
                                     std::string_view target);

// "%41" is "A"; a '%' that is not followed by two hex digits stands for itself.
std::string percent_decoded(std::string_view text);

}  // namespace mlxforge
