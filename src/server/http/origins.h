// What web pages may do with the server (Fetch standard, CORS): those of listed origins may read
// its answers. A server on a loopback address also refuses pages of all other origins and names
// that an attacker's DNS could point to it (DNS rebinding): it has no other wall to the web than
// these. Constant after start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/http/message.h"

namespace mlxforge {

class Origins {
 public:
  // `listed`: such as "https://chat.example"; "*" is every one. `hosts`: names beside localhost by
  // which a server on a loopback address may be called.
  Origins(std::vector<std::string> listed, std::vector<std::string> hosts, bool loopback)
      : listed_(std::move(listed)), hosts_(std::move(hosts)), loopback_(loopback) {}

  Status check(const HttpRequest& request) const;
  bool is_preflight(const HttpRequest& request) const;  // from a listed origin
  HttpReply preflight(const HttpRequest& request) const;
  HttpHeaders headers(const HttpRequest& request) const;  // of every answer to it

 private:
  bool lists(std::string_view origin) const;
  bool is_own_name(std::string_view host) const;

  std::vector<std::string> listed_;
  std::vector<std::string> hosts_;
  bool loopback_;
};

}  // namespace mlxforge
