#include "server/exchange.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/access_log.h"
#include "server/api/api.h"
#include "server/error.h"

namespace mlxforge {
namespace asio = boost::asio;

namespace {

// A handler with a body to work on runs in the pool. It is not interrupted: the strand's
// cancellation must not reach into another thread.
asio::awaitable<ApiResult> run_handler(const ExchangeContext& context, const HttpRequest& request) {
  const ServerState::View view = context.state.view();
  if (request.body.empty()) co_return dispatch(request, view);
  const auto work = [&]() -> asio::awaitable<ApiResult> { co_return dispatch(request, view); };
  co_return co_await asio::co_spawn(
      context.handlers, work,
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

HttpReply sse_head(const Generation& generation) {
  HttpReply head{.content_type = "text/event-stream; charset=utf-8", .headers = generation.headers};
  head.headers.emplace_back("Cache-Control", "no-cache");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // nginx would gather the events
  return head;
}

asio::awaitable<void> drive(Generation& generation, Ticket& ticket, ResponseWriter& out) {
  while (!generation.done()) {
    std::string events;
    for (const auto& [request, event] : co_await ticket.take())
      events += generation.push(request, event);
    for (const auto& [request, choice] : generation.take_ended()) ticket.cancel(request, choice);
    if (!events.empty()) co_await out.write(std::move(events));
  }
}

asio::awaitable<void> send_reply(HttpReply reply, ResponseWriter& out, AccessLog& log) {
  log.status(reply.status);
  co_await out.reply(std::move(reply));
}

asio::awaitable<void> generate(const ExchangeContext& context, Generation& generation,
                               ResponseWriter& out, AccessLog& log) {
  auto ticket = context.hub.submit(*generation.engine, std::move(generation.requests),
                                   co_await asio::this_coro::executor);
  if (!ticket.ok()) co_return co_await send_reply(error_reply(ticket.status()), out, log);
  log.generation(&generation);
  if (!generation.streaming()) {
    co_await drive(generation, *ticket, out);
    co_return co_await send_reply(generation.reply(), out, log);
  }
  log.status(200);
  co_await out.begin(sse_head(generation));
  co_await drive(generation, *ticket, out);
  if (generation.failed()) out.close_after();
  co_await out.end();
}

}  // namespace

asio::awaitable<void> serve_exchange(ExchangeContext context, const HttpRequest& request,
                                     ResponseWriter& out) {
  ApiResult result;
  AccessLog log(request);
  out.add_headers(context.access.headers(request));
  auto admitted = context.access.admit(request, is_public(request));
  if (auto* refusal = std::get_if<HttpReply>(&admitted))
    co_return co_await send_reply(std::move(*refusal), out, log);
  log.caller(std::get<Caller>(admitted));
  result = co_await run_handler(context, request);
  if (auto* generation = std::get_if<Generation>(&result))
    co_await generate(context, *generation, out, log);
  else
    co_await send_reply(std::move(std::get<HttpReply>(result)), out, log);
}

}  // namespace mlxforge
