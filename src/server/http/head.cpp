#include "server/http/head.h"

#include <boost/beast/http/status.hpp>
#include <charconv>
#include <ostream>

namespace mlxforge {
namespace {

void add(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string response_head(const HttpReply& reply, const Framing& framing) {
  namespace http = boost::beast::http;
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  const auto reason = http::obsolete_reason(static_cast<http::status>(reply.status));
  out.append(reason.data(), reason.size()).append("\r\n");
  add(out, "Content-Type", reply.content_type);
  for (const auto& [name, value] : reply.headers) add(out, name, value);
  if (framing.body == Framing::Body::sized)
    add(out, "Content-Length", std::to_string(framing.size));
  if (framing.body == Framing::Body::chunked) add(out, "Transfer-Encoding", "chunked");
  if (!framing.keep_alive) add(out, "Connection", "close");
  if (framing.keep_alive && framing.http_minor == 0) add(out, "Connection", "keep-alive");
  return out.append("\r\n");
}

std::string chunk(std::string_view data) {
  char hex[20];
  const auto end = std::to_chars(hex, hex + sizeof hex, data.size(), 16).ptr;
  std::string out(hex, end);
  return out.append("\r\n").append(data).append("\r\n");
}

}  // namespace mlxforge
