// Bytes of a connection to one request, by Beast's parser and the rules of RFC 9112 that it leaves
// to the server. No socket. One thread at a time.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string_view>

#include "server/http/limits.h"
#include "server/http/message.h"

namespace mlxforge {

// What HTTP itself refuses; the connection is closed after it.
struct HttpRefusal {
  int status;
  const char* message;
};

class RequestParser {
 public:
  explicit RequestParser(const HttpLimits& limits);

  // Takes what it needs of `buffer` and leaves what belongs to the next request. True when it needs
  // no more: the request is complete, or there is a refusal.
  bool feed(boost::beast::flat_buffer& buffer);

  const std::optional<HttpRefusal>& refusal() const { return refusal_; }
  bool in_body() const { return parser_.is_header_done(); }
  bool expects_continue();  // the client waits for "100 Continue"; true once

  // REQUIRES a complete request.
  bool keep_alive() const { return parser_.keep_alive(); }
  int http_minor() const { return static_cast<int>(parser_.get().version() % 10); }
  HttpRequest take();

 private:
  using Message = boost::beast::http::request_parser<boost::beast::http::string_body>;

  bool has_head(boost::beast::flat_buffer& buffer);
  void parse(boost::beast::flat_buffer& buffer);
  bool refuse(int status, const char* message);

  const size_t header_bytes_;
  Message parser_;
  bool continued_ = false;
  std::optional<HttpRefusal> refusal_;
};

// An absolute-form target ("http://host/path") as its authority and its path; any other one has no
// authority.
struct Target {
  std::string_view authority;
  std::string_view path;
};
Target split_target(std::string_view target);

}  // namespace mlxforge
