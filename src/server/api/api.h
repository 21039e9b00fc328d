// An endpoint: a method, a path, and a pure handler from a body to a reply or to work for
// the engine.
// Handlers run on any thread, touch no socket and do not wait. One file per endpoint in this
// folder, one line per endpoint in endpoints.cpp.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "base/cancel_flag.h"
#include "server/embedding.h"
#include "server/generation.h"
#include "server/http/message.h"
#include "server/state.h"

namespace mlxforge {

struct ApiCall {
  std::string_view body;
  std::string_view argument;  // what the path has in the place of its {...}
  std::string_view query;     // behind the path's '?'
  const ServerState::View& server;
  const CancelFlag& cancel;  // set once the client has left
};

using ApiResult = std::variant<HttpReply, Generation, Embedding>;

struct Endpoint {
  std::string_view method;
  std::string_view path;
  ApiResult (*handle)(const ApiCall&);
  bool needs_model = true;  // answered 503 unless the server is ok; call.server.model is then set
  bool is_public = false;   // open without an API key
  bool takes_time = false;  // without a body too: not for a thread that serves connections
};

std::span<const Endpoint> endpoints();

// The request's endpoint; null: there is none.
const Endpoint* endpoint_of(const HttpRequest& request);

// The reply with a failure told in the way that the clients of the request's path expect.
HttpReply told_as_expected(const HttpRequest& request, HttpReply reply);

// Finds the endpoint and runs it; a handler that throws becomes a 500. `target` as in the request
// line.
ApiResult dispatch(const HttpRequest& request, const ServerState::View& server,
                   const CancelFlag& cancel = kNeverCancelled);

}  // namespace mlxforge
