#include "server/http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"

namespace mlxforge {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kLinger{2000};
constexpr size_t kLingerBytes = 64 << 20;

constexpr size_t kReadHead = 4 << 10;
constexpr size_t kReadBody = 64 << 10;

}  // namespace

Connection::Connection(Stream::Socket socket, asio::ssl::context* tls, const HttpLimits& limits,
                       Serve serve, Refuse refuse)
    : stream_(std::move(socket), tls),
      watchdog_(stream_.socket()),
      limits_(limits),
      serve_(std::move(serve)),
      refuse_(std::move(refuse)) {}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  try {
    co_await serve_requests();
  } catch (const boost::system::system_error&) {  // reset while we wrote: nothing to tell anybody
  } catch (const std::exception& e) {
    log_error("[server] a connection failed: ", e.what());
  }
  watchdog_.stop();
}

asio::awaitable<void> Connection::serve_requests() {
  arm(limits_.read);
  if (co_await stream_.handshake()) co_return;
  while (co_await exchange()) {
  }
  co_await linger();
}

void Connection::close() {
  asio::post(stream_.executor(), [self = shared_from_this()] {
    error_code ignored;
    self->stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
  });
}

ResponseWriter Connection::writer(ResponseWriter::Terms terms) {
  return {stream_, terms, [this](bool busy) { busy ? arm(limits_.write) : watchdog_.disarm(); }};
}

asio::awaitable<bool> Connection::exchange() {
  using namespace asio::experimental::awaitable_operators;
  auto read = co_await read_request();
  if (std::holds_alternative<Gone>(read)) co_return false;
  watchdog_.disarm();
  if (auto* refusal = std::get_if<HttpReply>(&read)) {
    co_await writer({.keep_alive = false}).reply(std::move(*refusal));
    co_return false;
  }
  auto& incoming = std::get<Incoming>(read);
  ResponseWriter out = writer(incoming.terms);
  const auto first = co_await (serve_guarded(incoming.request, out) || peer_gone());
  co_return first.index() == 0 && out.started() && out.keep_alive();
}

asio::awaitable<void> Connection::serve_guarded(const HttpRequest& request, ResponseWriter& out) {
  try {
    co_await serve_or_fail(request, out);
  } catch (const boost::system::system_error&) {  // the peer is gone, or this was cancelled for it
    out.close_after();
  }
}

asio::awaitable<void> Connection::serve_or_fail(const HttpRequest& request, ResponseWriter& out) {
  try {
    co_return co_await serve_(request, out);
  } catch (const boost::system::system_error&) {
    throw;
  } catch (const std::exception& e) {
    log_error("[server] a request failed: ", e.what());
  }
  out.close_after();
  if (!out.started()) co_await out.reply(refuse_(500, "the server failed at this request"));
}

// Bytes that arrive meanwhile belong to the next request. A client that sends more of them than the
// limit is no longer read from; its reset, but not its orderly close, is still seen then.
asio::awaitable<void> Connection::peer_gone() {
  while (buffer_.size() < limits_.pipelined_bytes)
    if (!co_await read_some(kReadHead)) co_return;
  co_await stream_.socket().async_wait(asio::socket_base::wait_error, kTuple);
}

asio::awaitable<std::variant<Connection::Gone, HttpReply, Connection::Incoming>>
Connection::read_request() {
  using namespace asio::experimental::awaitable_operators;
  arm(limits_.idle);
  if (buffer_.size() == 0 && !co_await read_some(kReadHead)) co_return Gone{};
  watchdog_.disarm();
  RequestParser parser(limits_);
  asio::steady_timer deadline(stream_.executor(), limits_.read);
  const auto first = co_await (receive(parser) || deadline.async_wait(kTuple));
  if (first.index() == 1) co_return refuse_(408, "the request did not arrive in time");
  if (!std::get<0>(first)) co_return Gone{};
  if (const auto& refusal = parser.refusal()) co_return refuse_(refusal->status, refusal->message);
  Incoming incoming{
      .terms = {.keep_alive = parser.keep_alive(), .http_minor = parser.http_minor()}};
  incoming.request = parser.take();
  incoming.terms.head_only = incoming.request.method == "HEAD";
  co_return incoming;
}

asio::awaitable<bool> Connection::receive(RequestParser& parser) {
  while (!parser.feed(buffer_)) {
    if (parser.expects_continue()) {
      static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await stream_.write(asio::buffer(kGoOn));
    }
    if (!co_await read_some(parser.in_body() ? kReadBody : kReadHead)) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> Connection::read_some(size_t most) {
  if (ended_) co_return false;
  const auto [ec, n] = co_await stream_.read_some(buffer_.prepare(most));
  buffer_.commit(n);
  ended_ = ec && ec != asio::error::operation_aborted;
  co_return !ec;
}

// A socket closed with unread input resets the connection and may destroy the answer on its way, so
// what still comes is read and dropped for a moment.
asio::awaitable<void> Connection::linger() {
  arm(kLinger);
  co_await stream_.finish();
  if (ended_) co_return;
  error_code ec;
  for (size_t dropped = 0, n = 0; !ec && dropped < kLingerBytes; dropped += n) {
    buffer_.clear();
    std::tie(ec, n) = co_await stream_.socket().async_read_some(buffer_.prepare(64 << 10), kTuple);
  }
}

}  // namespace mlxforge
