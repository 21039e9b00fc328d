// One client connection: reads requests one after another, hands each to `serve`, and watches the
// socket while the answer is being made, so that a client that closes or resets ends `serve` at its
// current co_await. Everything runs on the socket's executor, which must be a strand. Owned by its
// coroutine; the server holds a weak reference for close().
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <functional>
#include <memory>
#include <variant>

#include "server/http/limits.h"
#include "server/http/message.h"
#include "server/http/request_parser.h"
#include "server/http/response_writer.h"
#include "server/http/stream.h"
#include "server/http/watchdog.h"

namespace mlxforge {

using Serve = std::function<boost::asio::awaitable<void>(const HttpRequest&, ResponseWriter&)>;
// The reply to a request that HTTP itself refuses (400, 408, 413, 431) or whose answer ended in an
// exception (500); the connection is closed after it.
using Refuse = std::function<HttpReply(int status, const char* message)>;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Stream::Socket socket, boost::asio::ssl::context* tls, const HttpLimits& limits,
             Serve serve, Refuse refuse);

  boost::asio::awaitable<void> run();  // until the connection is closed; does not throw
  void close();                        // from any thread; run() then ends

 private:
  struct Incoming {
    HttpRequest request;
    ResponseWriter::Terms terms;
  };
  struct Gone {};  // closed, reset or idle for too long

  boost::asio::awaitable<void> serve_requests();
  boost::asio::awaitable<bool> exchange();  // one request and its answer; false: no further one
  boost::asio::awaitable<std::variant<Gone, HttpReply, Incoming>> read_request();
  boost::asio::awaitable<bool> receive(RequestParser& parser);  // false: closed or reset
  boost::asio::awaitable<bool> read_some(size_t most);
  boost::asio::awaitable<void> serve_guarded(const HttpRequest& request, ResponseWriter& writer);
  boost::asio::awaitable<void> serve_or_fail(const HttpRequest& request, ResponseWriter& writer);
  boost::asio::awaitable<void> peer_gone();
  boost::asio::awaitable<void> linger();
  void arm(std::chrono::milliseconds time) { watchdog_.arm(time, shared_from_this()); }
  ResponseWriter writer(ResponseWriter::Terms terms);

  Stream stream_;
  Watchdog watchdog_;
  const HttpLimits& limits_;
  Serve serve_;
  Refuse refuse_;
  boost::beast::flat_buffer buffer_;  // bytes received and not yet parsed
  // The end is reported to one read only: asio waits in vain for a second one, and the first may be
  // the watch of a request that ended at the same moment.
  bool ended_ = false;
};

}  // namespace mlxforge
