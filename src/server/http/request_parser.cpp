#include "server/http/request_parser.h"

#include <boost/beast/core/string.hpp>
#include <cctype>

namespace mlxforge {
namespace http = boost::beast::http;

namespace {

constexpr const char* kNotHttp = "this is not a valid HTTP/1.1 request";

std::string_view text_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.cdata().data()), buffer.size()};
}

// A header continued on a line that begins with white space. Servers disagree on what it means.
bool is_folded(std::string_view head) {
  return head.find("\r\n ") != head.npos || head.find("\r\n\t") != head.npos;
}

// RFC 9112, 3.2: one Host, a name or an address and perhaps a port.
const char* host_fault(const http::request_header<>& head) {
  if (head.count(http::field::host) > 1) return "a request must have one Host header, not several";
  const auto host = head.find(http::field::host);
  if (host == head.end())
    return head.version() > 10 ? "an HTTP/1.1 request must have a Host header" : nullptr;
  if (host->value().find_first_of(" \t,/\\@?#") != boost::beast::string_view::npos)
    return "the Host header must be a name or an address, with or without a port";
  return nullptr;
}

// RFC 9112, 6.1: where the framing is in doubt, so is where the next request begins.
const char* framing_fault(const http::request_header<>& head) {
  const auto coding = head.find(http::field::transfer_encoding);
  if (coding == head.end()) return nullptr;
  if (head.version() < 11) return "Transfer-Encoding needs HTTP/1.1";
  const bool known = head.count(http::field::transfer_encoding) == 1 &&
                     boost::beast::iequals(coding->value(), "chunked");
  return known ? nullptr : "the one Transfer-Encoding that this server knows is chunked";
}

std::string lower(boost::beast::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

Target split_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!boost::beast::iequals(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t end = std::min(target.find_first_of("/?"), target.size());
    return {target.substr(0, end), end < target.size() ? target.substr(end) : "/"};
  }
  return {{}, target};
}

RequestParser::RequestParser(const HttpLimits& limits) : header_bytes_(limits.header_bytes) {
  parser_.header_limit(static_cast<uint32_t>(limits.header_bytes));
  parser_.body_limit(limits.body_bytes);
}

bool RequestParser::feed(boost::beast::flat_buffer& buffer) {
  if (!in_body()) {
    if (!has_head(buffer)) return refusal_.has_value();
    parse(buffer);
    if (refusal_) return true;
    for (const auto fault : {host_fault, framing_fault})
      if (const char* message = fault(parser_.get())) return refuse(400, message);
    parser_.eager(true);
  }
  if (!parser_.is_done() && buffer.size() > 0) parse(buffer);
  return refusal_ || parser_.is_done();
}

// Empty lines before a request are left from the one before (RFC 9112, 2.2).
bool RequestParser::has_head(boost::beast::flat_buffer& buffer) {
  while (text_of(buffer).starts_with("\r\n")) buffer.consume(2);
  const std::string_view text = text_of(buffer);
  const size_t end = text.find("\r\n\r\n");
  if (std::min(end, text.size()) > header_bytes_) {
    refuse(431, "the request's headers are larger than this server accepts");
    return false;
  }
  if (end == text.npos) return false;
  if (is_folded(text.substr(0, end))) refuse(400, "a header must not continue on a second line");
  return !refusal_;
}

void RequestParser::parse(boost::beast::flat_buffer& buffer) {
  boost::system::error_code ec;
  buffer.consume(parser_.put(buffer.data(), ec));
  if (ec == http::error::body_limit)
    refuse(413, "the request's body is larger than this server accepts");
  else if (ec == http::error::header_limit)
    refuse(431, "the request's headers are larger than this server accepts");
  else if (ec && ec != http::error::need_more)
    refuse(400, kNotHttp);
}

bool RequestParser::refuse(int status, const char* message) {
  refusal_ = {status, message};
  return true;
}

bool RequestParser::expects_continue() {
  if (continued_ || !in_body()) return false;
  continued_ = true;
  return boost::beast::iequals(parser_.get()[http::field::expect], "100-continue");
}

HttpRequest RequestParser::take() {
  auto message = parser_.release();
  HttpRequest request{.method = std::string(message.method_string())};
  for (const auto& field : message)
    request.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
  const Target target = split_target(std::string_view(message.target()));
  request.target = target.path;
  if (!target.authority.empty())
    for (auto& [name, value] : request.headers)
      if (name == "host") value = target.authority;
  request.body = std::move(message.body());
  return request;
}

}  // namespace mlxforge
