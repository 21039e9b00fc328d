// One request's way through the server: handler, engine, answer, log line. Runs as a coroutine on
// the connection's strand, and is cancelled at its current co_await when the client goes away; the
// ticket it holds then cancels the engine's work.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "server/access.h"
#include "server/http/rate_limits.h"
#include "server/http/response_writer.h"
#include "server/hub.h"
#include "server/state.h"
#include "server/tracing.h"

namespace mlxforge {

struct ExchangeContext {
  const Access& access;
  RateLimits& limits;
  const Tracing* tracing;  // null: none
  ServerState& state;
  Hub& hub;
  boost::asio::thread_pool& handlers;
};

boost::asio::awaitable<void> serve_exchange(ExchangeContext context, const HttpRequest& request,
                                            ResponseWriter& out);

}  // namespace mlxforge
