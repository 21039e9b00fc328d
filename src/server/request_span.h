// A request as a span, under the names of OpenTelemetry's semantic conventions (HTTP, generative
// AI) where they have them, and else under vLLM's (gen_ai.latency.*).
#pragma once

#include <string>

#include "rust/bridge.h"
#include "server/generation.h"
#include "server/http/message.h"

namespace mlxforge {

struct RequestFacts {
  const HttpRequest& request;
  const std::string& id;
  const std::string& key;  // its name; empty: none
  int status;
  double ms;                     // it ends now
  const Generation* generation;  // null: it had none
};

rs::RequestSpan request_span(const RequestFacts& facts);

}  // namespace mlxforge
