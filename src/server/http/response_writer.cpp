#include "server/http/response_writer.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>

namespace mlxforge {
namespace asio = boost::asio;

void ResponseWriter::add_headers(HttpHeaders headers) {
  std::ranges::move(headers, std::back_inserter(headers_));
}

asio::awaitable<void> ResponseWriter::reply(HttpReply reply) {
  std::ranges::copy(headers_, std::back_inserter(reply.headers));
  std::string bytes = response_head(reply, {.body = Framing::Body::sized,
                                            .size = reply.body.size(),
                                            .keep_alive = terms_.keep_alive,
                                            .http_minor = terms_.http_minor});
  if (!terms_.head_only) bytes += reply.body;
  co_await send(std::move(bytes));
}

asio::awaitable<void> ResponseWriter::begin(HttpReply head) {
  const bool chunked =
      terms_.http_minor > 0;  // HTTP/1.0 knows no chunks: its body ends with the connection
  if (!chunked) terms_.keep_alive = false;
  std::ranges::copy(headers_, std::back_inserter(head.headers));
  co_await send(
      response_head(head, {.body = chunked ? Framing::Body::chunked : Framing::Body::until_close,
                           .keep_alive = terms_.keep_alive,
                           .http_minor = terms_.http_minor}));
}

asio::awaitable<void> ResponseWriter::write(std::string data) {
  co_await send(terms_.http_minor > 0 ? chunk(data) : std::move(data));
}

asio::awaitable<void> ResponseWriter::end() {
  if (terms_.http_minor > 0) co_await send(std::string(kLastChunk));
}

asio::awaitable<void> ResponseWriter::send(std::string bytes) {
  started_ = true;
  busy_(true);
  co_await stream_.write(asio::buffer(bytes));
  busy_(false);
}

}  // namespace mlxforge
