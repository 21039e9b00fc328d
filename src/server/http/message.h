// A request and a reply as everything above the transport sees them: plain values, no socket.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mlxforge {

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: percent-encoding and query are still in it
  std::string body;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  HttpHeaders headers;
};

}  // namespace mlxforge
