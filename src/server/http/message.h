// A request and a reply as everything above the transport sees them: plain values, no socket.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlxforge {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string target;  // path and query as sent: percent-encoding is still in it
  std::string body;
  HttpHeaders headers;  // names in lower case

  // The first header of that name; empty without one.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  HttpHeaders headers;
};

}  // namespace mlxforge
