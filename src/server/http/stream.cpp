#include "server/http/stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace mlxforge {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
}  // namespace

Stream::Stream(Socket socket, asio::ssl::context* tls) : socket_(std::move(socket)) {
  if (tls) tls_.emplace(socket_, *tls);
}

asio::awaitable<error_code> Stream::handshake() {
  if (!tls_) co_return error_code{};
  const auto [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, kTuple);
  co_return ec;
}

asio::awaitable<std::pair<error_code, size_t>> Stream::read_some(asio::mutable_buffer buffer) {
  const auto [ec, n] = tls_ ? co_await tls_->async_read_some(buffer, kTuple)
                            : co_await socket_.async_read_some(buffer, kTuple);
  co_return std::pair(ec, n);
}

asio::awaitable<void> Stream::write(asio::const_buffer data) {
  if (tls_)
    co_await asio::async_write(*tls_, data, asio::use_awaitable);
  else
    co_await asio::async_write(socket_, data, asio::use_awaitable);
}

asio::awaitable<void> Stream::finish() {
  if (tls_) co_await tls_->async_shutdown(kTuple);
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

}  // namespace mlxforge
