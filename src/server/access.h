// Who may ask. Deny by default: with keys set, every request needs one unless its endpoint is
// listed as public; an unknown path needs one too. Constant after start.
#pragma once

#include <string>
#include <variant>

#include "server/http/api_keys.h"
#include "server/http/message.h"
#include "server/http/origins.h"

namespace mlxforge {

struct AccessRules {
  ApiKeys keys;                           // none: everybody may ask
  std::vector<std::string> cors_origins;  // see origins.h
  std::vector<std::string> allowed_hosts;
};

struct Caller {
  std::string key;      // its name; empty where none was needed
  uint32_t number = 0;  // of the key, from 1 on; 0: no key
};

class Access {
 public:
  Access(const AccessRules& rules, bool loopback)
      : keys_(rules.keys), origins_(rules.cors_origins, rules.allowed_hosts, loopback) {}

  // Who asks, or what they get instead of an answer.
  std::variant<Caller, HttpReply> admit(const HttpRequest& request, bool is_public) const;
  HttpHeaders headers(const HttpRequest& request) const { return origins_.headers(request); }

 private:
  ApiKeys keys_;
  Origins origins_;
};

}  // namespace mlxforge
