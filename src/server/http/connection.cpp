#include "server/http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/log.h"

namespace mlxforge {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kLinger{2000};
constexpr size_t kLingerBytes = 64 << 20;

bool is_http_error(error_code ec) {
  return ec.category() == make_error_code(http::error::bad_method).category() &&
         ec != http::error::end_of_stream && ec != http::error::partial_message;
}

using Parser = http::request_parser<http::string_body>;

// The header, our word to go on where the client waits for it, and the body.
asio::awaitable<error_code> read_message(asio::ip::tcp::socket& socket,
                                         boost::beast::flat_buffer& buffer, Parser& parser) {
  auto [ec, n] = co_await http::async_read_header(socket, buffer, parser, kTuple);
  if (!ec && parser.get()[http::field::expect] == "100-continue" && !parser.is_done()) {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    std::tie(ec, n) = co_await asio::async_write(socket, asio::buffer(kGoOn), kTuple);
  }
  if (!ec && !parser.is_done())
    std::tie(ec, n) = co_await http::async_read(socket, buffer, parser, kTuple);
  co_return ec;
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, const HttpLimits& limits, Serve serve,
                       Refuse refuse)
    : socket_(std::move(socket)),
      watchdog_(socket_),
      limits_(limits),
      serve_(std::move(serve)),
      refuse_(std::move(refuse)) {}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  try {
    while (co_await exchange()) {
    }
    co_await linger();
  } catch (const boost::system::system_error&) {  // reset while we wrote: nothing to tell anybody
  } catch (const std::exception& e) {
    log_error("[server] a connection failed: ", e.what());
  }
  watchdog_.stop();
}

void Connection::close() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    error_code ignored;
    self->socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  });
}

ResponseWriter Connection::writer(ResponseWriter::Terms terms) {
  return {socket_, terms, [this](bool busy) { busy ? arm(limits_.write) : watchdog_.disarm(); }};
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
  while (buffer_.size() < limits_.pipelined_bytes) {
    const auto [ec, n] = co_await socket_.async_read_some(buffer_.prepare(4096), kTuple);
    if (ec) co_return;
    buffer_.commit(n);
  }
  co_await socket_.async_wait(asio::socket_base::wait_error, kTuple);
}

asio::awaitable<std::variant<Connection::Gone, HttpReply, Connection::Incoming>>
Connection::read_request() {
  arm(limits_.idle);
  if (buffer_.size() == 0) {
    const auto [ec, n] = co_await socket_.async_read_some(buffer_.prepare(4096), kTuple);
    if (ec) co_return Gone{};
    buffer_.commit(n);
  }
  arm(limits_.read);
  Parser parser;
  parser.header_limit(static_cast<uint32_t>(limits_.header_bytes));
  parser.body_limit(limits_.body_bytes);
  const error_code ec = co_await read_message(socket_, buffer_, parser);
  if (ec == http::error::body_limit)
    co_return refuse_(413, "the request's body is larger than this server accepts");
  if (ec == http::error::header_limit)
    co_return refuse_(431, "the request's headers are larger than this server accepts");
  if (is_http_error(ec)) co_return refuse_(400, "this is not a valid HTTP/1.1 request");
  if (ec) co_return Gone{};
  auto message = parser.release();
  co_return Incoming{.request = {.method = std::string(message.method_string()),
                                 .target = std::string(message.target()),
                                 .body = std::move(message.body())},
                     .terms = {.head_only = message.method() == http::verb::head,
                               .keep_alive = message.keep_alive(),
                               .http_minor = static_cast<int>(message.version() % 10)}};
}

// A socket closed with unread input resets the connection and may destroy the answer on its way, so
// what still comes is read and dropped for a moment.
asio::awaitable<void> Connection::linger() {
  error_code ec;
  socket_.shutdown(asio::socket_base::shutdown_send, ec);
  arm(kLinger);
  size_t dropped = 0;
  while (!ec && dropped < kLingerBytes) {
    buffer_.clear();
    size_t n = 0;
    std::tie(ec, n) = co_await socket_.async_read_some(buffer_.prepare(64 << 10), kTuple);
    dropped += n;
  }
}

}  // namespace mlxforge
