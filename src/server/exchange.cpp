#include "server/exchange.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <optional>

#include "server/access_log.h"
#include "server/api/api.h"
#include "server/error.h"
#include "server/http/request_id.h"
#include "server/metrics/request_meter.h"
#include "server/prompts.h"

namespace mlxforge {
namespace asio = boost::asio;

namespace {

// Runs what takes its time in the pool. It is not interrupted: the strand's cancellation must not
// reach into another thread.
template <class Work>
asio::awaitable<std::invoke_result_t<Work>> in_pool(const ExchangeContext& context, Work work) {
  const auto coroutine = [&]() -> asio::awaitable<std::invoke_result_t<Work>> { co_return work(); };
  co_return co_await asio::co_spawn(
      context.handlers, coroutine,
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

// A handler with a body to work on runs in the pool, as does one that takes time without. The
// strand's cancellation sets a flag, which the handler looks at.
asio::awaitable<ApiResult> run_handler(const ExchangeContext& context, const HttpRequest& request,
                                       bool takes_time) {
  const ServerState::View view = context.state.view();
  if (!takes_time && request.body.empty()) co_return dispatch(request, view);
  CancelFlag cancel;
  asio::cancellation_slot left = (co_await asio::this_coro::cancellation_state).slot();
  left.assign([&](asio::cancellation_type) { cancel.set(); });
  auto result = co_await in_pool(context, [&] { return dispatch(request, view, cancel); });
  left.clear();
  co_return result;
}

HttpReply sse_head(const Generation& generation) {
  HttpReply head{.content_type = "text/event-stream; charset=utf-8", .headers = generation.headers};
  head.headers.emplace_back("Cache-Control", "no-cache");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // nginx would gather the events
  return head;
}

asio::awaitable<void> drive(Generation& generation, Ticket& ticket, RequestMeter& meter,
                            ResponseWriter& out) {
  while (!generation.done()) {
    std::string events;
    for (const auto& [request, event] : co_await ticket.take()) {
      meter.observe(request, event);
      events += generation.push(request, event);
    }
    for (const auto& [request, choice] : generation.take_ended()) ticket.cancel(request, choice);
    if (!events.empty()) co_await out.write(std::move(events));
  }
}

asio::awaitable<void> send_reply(HttpReply reply, ResponseWriter& out, AccessLog& log) {
  log.status(reply.status);
  co_await out.reply(told_as_expected(log.request(), std::move(reply)));
}

// A call takes a request from its key's allowance, or gets 429.
std::optional<HttpReply> rate_refusal(RateLimits& limits, const Caller& caller) {
  const double seconds = std::ceil(limits.begin(caller.key, Clock::now()));
  if (seconds == 0) return std::nullopt;
  HttpReply reply = error_reply(
      {Code::rate_limited, str("too much within a minute; try again in ", seconds, " s"), ""});
  reply.headers.emplace_back("Retry-After", str(seconds));
  return reply;
}

// What an answer cost, however it ends.
struct Spending {
  ~Spending() {
    const Usage usage = generation.usage();
    limits.spend(key, usage.prompt_tokens + usage.completion_tokens, Clock::now());
  }
  RateLimits& limits;
  const std::string& key;
  const Generation& generation;
};

asio::awaitable<void> generate(const ExchangeContext& context, const Caller& caller,
                               Generation& generation, ResponseWriter& out, AccessLog& log) {
  RequestMeter meter(context.state.metrics, generation.requests);
  for (Request& request : generation.requests) request.client = caller.number;
  auto ticket = context.hub.submit(*generation.engine, std::move(generation.requests),
                                   co_await asio::this_coro::executor);
  if (!ticket.ok()) {
    const Status why = about_input(ticket.status(), generation.input);
    co_return co_await send_reply(error_reply(why), out, log);
  }
  log.generation(&generation);
  meter.accepted();
  const Spending spending{context.limits, caller.key, generation};
  if (!generation.streaming()) {
    co_await drive(generation, *ticket, meter, out);
    co_return co_await send_reply(generation.reply(), out, log);
  }
  log.status(200);
  co_await out.begin(sse_head(generation));
  co_await drive(generation, *ticket, meter, out);
  if (generation.failed()) out.close_after();
  co_await out.end();
}

// What embedding.next() gives, to its end.
asio::awaitable<void> embed_some(const ExchangeContext& context, const Caller& caller,
                                 Embedding& embedding) {
  std::vector<Request> requests = embedding.next();
  RequestMeter meter(context.state.metrics, requests);
  int n_tokens = 0;
  for (Request& request : requests) {
    request.client = caller.number;
    n_tokens += static_cast<int>(request.prompt.size());
  }
  auto ticket = context.hub.submit(*embedding.engine, std::move(requests),
                                   co_await asio::this_coro::executor);
  if (!ticket.ok()) co_return embedding.fail(ticket.status());
  meter.accepted();
  context.limits.spend(caller.key, n_tokens, Clock::now());
  while (embedding.waiting())
    for (const auto& [request, event] : co_await ticket->take()) {
      meter.observe(request, event);
      embedding.push(request, event);
    }
}

asio::awaitable<void> embed(const ExchangeContext& context, const Caller& caller,
                            Embedding& embedding, ResponseWriter& out, AccessLog& log) {
  while (!embedding.done()) co_await embed_some(context, caller, embedding);
  co_await send_reply(co_await in_pool(context, [&] { return embedding.reply(); }), out, log);
}

}  // namespace

asio::awaitable<void> serve_exchange(ExchangeContext context, const HttpRequest& request,
                                     ResponseWriter& out) {
  ApiResult result;
  std::string id = request_id(request.header("x-request-id"));
  out.add_headers({{"x-request-id", id}});
  out.add_headers(context.access.headers(request));
  AccessLog log(request, std::move(id), context.state.metrics, context.tracing);
  const Endpoint* endpoint = endpoint_of(request);
  auto admitted = context.access.admit(request, endpoint && endpoint->is_public);
  if (auto* refusal = std::get_if<HttpReply>(&admitted))
    co_return co_await send_reply(std::move(*refusal), out, log);
  const Caller& caller = std::get<Caller>(admitted);
  log.caller(caller);
  if (request.method == "POST")
    if (auto refusal = rate_refusal(context.limits, caller))
      co_return co_await send_reply(std::move(*refusal), out, log);
  result = co_await run_handler(context, request, endpoint && endpoint->takes_time);
  if (auto* generation = std::get_if<Generation>(&result))
    co_await generate(context, caller, *generation, out, log);
  else if (auto* embedding = std::get_if<Embedding>(&result))
    co_await embed(context, caller, *embedding, out, log);
  else
    co_await send_reply(std::move(std::get<HttpReply>(result)), out, log);
}

}  // namespace mlxforge
