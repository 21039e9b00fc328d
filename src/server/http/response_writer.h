// Writes one response to one connection: either reply(), or begin() write()* end(). On the
// connection's strand, one call at a time. A write fails by throwing boost::system::system_error;
// the connection is then of no further use.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "server/http/head.h"
#include "server/http/message.h"
#include "server/http/stream.h"

namespace mlxforge {

class ResponseWriter {
 public:
  struct Terms {
    bool head_only = false;  // HEAD: the head tells the body's size, the body is not sent
    bool keep_alive = true;
    int http_minor = 1;
  };
  // Arms the connection's write timeout (true) or lets it rest (false).
  using Busy = std::function<void(bool)>;

  ResponseWriter(Stream& stream, Terms terms, Busy busy)
      : stream_(stream), terms_(terms), busy_(std::move(busy)) {}

  // Of whatever is sent.
  void add_headers(HttpHeaders headers);

  boost::asio::awaitable<void> reply(HttpReply reply);

  // Sends status and headers; the body follows by write().
  boost::asio::awaitable<void> begin(HttpReply head);
  boost::asio::awaitable<void> write(std::string data);  // not empty
  boost::asio::awaitable<void> end();

  bool started() const { return started_; }
  bool keep_alive() const { return terms_.keep_alive; }
  void close_after() { terms_.keep_alive = false; }

 private:
  boost::asio::awaitable<void> send(std::string bytes);

  Stream& stream_;
  Terms terms_;
  Busy busy_;
  HttpHeaders headers_;
  bool started_ = false;
};

}  // namespace mlxforge
