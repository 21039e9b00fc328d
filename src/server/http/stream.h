// A client's byte stream: a TCP or Unix socket, plain or under TLS. On its executor (a strand)
// only; one read and one write may be under way at once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <optional>
#include <utility>

namespace mlxforge {

class Stream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // `tls`: null for none; read here only.
  Stream(Socket socket, boost::asio::ssl::context* tls);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Socket& socket() { return socket_; }
  boost::asio::any_io_executor executor() { return socket_.get_executor(); }

  // TLS' first exchange; without TLS, nothing.
  boost::asio::awaitable<boost::system::error_code> handshake();
  boost::asio::awaitable<std::pair<boost::system::error_code, size_t>> read_some(
      boost::asio::mutable_buffer buffer);
  // All of it; throws boost::system::system_error.
  boost::asio::awaitable<void> write(boost::asio::const_buffer data);
  // Tells the client that nothing more comes. What it still sends can be read from the socket.
  boost::asio::awaitable<void> finish();

 private:
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace mlxforge
