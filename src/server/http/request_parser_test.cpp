#include "server/http/request_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/str.h"

namespace mlxforge {
namespace {

// What the parser makes of bytes that arrive `step` at a time: a refusal's status, 200 for a
// complete request, 0 while it needs more.
struct Parsed {
  int status = 0;
  HttpRequest request;
  std::string rest;
};

Parsed parse(std::string_view bytes, size_t step) {
  HttpLimits limits;
  limits.header_bytes = 1 << 10;
  limits.body_bytes = 100;
  RequestParser parser(limits);
  boost::beast::flat_buffer buffer;
  bool done = false;
  while (!bytes.empty()) {
    const size_t n = std::min(step, bytes.size());
    std::ranges::copy(bytes.substr(0, n), static_cast<char*>(buffer.prepare(n).data()));
    buffer.commit(n);
    bytes.remove_prefix(n);
    if ((done = parser.feed(buffer))) break;
  }
  Parsed out;
  if (parser.refusal()) out.status = parser.refusal()->status;
  if (!done || parser.refusal()) return out;
  out.status = 200;
  out.request = parser.take();
  out.rest = std::string(static_cast<const char*>(buffer.data().data()), buffer.size());
  return out;
}

// In pieces of every size it comes to the same.
Parsed parse(const std::string& bytes) {
  Parsed whole = parse(bytes, bytes.size());
  for (const size_t step : {1, 2, 3, 7, 50}) {
    const Parsed pieces = parse(bytes, step);
    EXPECT_EQ(pieces.status, whole.status) << bytes;
    EXPECT_EQ(pieces.request.body, whole.request.body) << bytes;
    EXPECT_EQ(pieces.request.headers, whole.request.headers) << bytes;
  }
  return whole;
}

std::string get(const std::string& headers) { return "GET /a?b HTTP/1.1\r\n" + headers + "\r\n"; }
std::string post(const std::string& headers, const std::string& body) {
  return "POST /a HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
}

TEST(RequestParser, TakesARequestAndLeavesTheNextOne) {
  const std::string next = "GET /next";
  const Parsed got = parse(post("X-Y: Z\r\nContent-Length: 3\r\n", "abc" + next));
  EXPECT_EQ(got.request.method, "POST");
  EXPECT_EQ(got.request.target, "/a");
  EXPECT_EQ(got.request.body, "abc");
  EXPECT_EQ(got.rest, next);
  EXPECT_EQ(got.request.header("x-y"), "Z");
  EXPECT_EQ(got.request.header("none"), "");
  const Parsed chunked =
      parse(post("Transfer-Encoding: Chunked\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"));
  EXPECT_EQ(chunked.request.body, "abc");
}

// RFC 9112, 2.2: at least one empty line is ignored.
TEST(RequestParser, IgnoresEmptyLinesBeforeARequest) {
  for (const char* lines : {"\r\n", "\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n"})
    EXPECT_EQ(parse(lines + get("Host: a\r\n")).request.target, "/a?b");
  EXPECT_EQ(parse("\r\n\r\n").status, 0);
}

// RFC 9112, 3.2.
TEST(RequestParser, WantsOneValidHost) {
  for (const char* host : {"a", "a:80", "127.0.0.1:8080", "[::1]:8080", "", "a.b-c_d"})
    EXPECT_EQ(parse(get(str("Host: ", host, "\r\n"))).status, 200) << host;
  for (const char* host : {"a b", "a,b", "a/b", "u@a", "a?b", "a#b", "a\\b"})
    EXPECT_EQ(parse(get(str("Host: ", host, "\r\n"))).status, 400) << host;
  EXPECT_EQ(parse(get("")).status, 400);
  EXPECT_EQ(parse(get("Host: a\r\nHost: a\r\n")).status, 400);
  EXPECT_EQ(parse(get("Host: a\r\nhOST: b\r\n")).status, 400);
  EXPECT_EQ(parse("GET / HTTP/1.0\r\n\r\n").status, 200);
}

// RFC 9112, 5.2.
TEST(RequestParser, RefusesFoldedHeaders) {
  for (const char* fold : {"X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "X:\r\n b\r\n", "X: a\r\n \r\n"}) {
    EXPECT_EQ(parse(get(str("Host: a\r\n", fold))).status, 400) << fold;
    EXPECT_EQ(parse(get(str(fold, "Host: a\r\n"))).status, 400) << fold;
  }
  EXPECT_EQ(parse(get("Host: a\r\nX: a  \t b \r\n")).status, 200);
}

// RFC 9112, 3.2.2.
TEST(RequestParser, ServesTargetsInAbsoluteForm) {
  const std::pair<const char*, const char*> cases[] = {{"http://b:1/a/b?c", "/a/b?c"},
                                                       {"HTTPS://b/a", "/a"},
                                                       {"http://b", "/"},
                                                       {"http://b?c", "?c"}};
  for (const auto& [target, path] : cases) {
    const auto request = parse(str("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")).request;
    EXPECT_EQ(request.target, path);
    EXPECT_TRUE(request.header("host").starts_with("b"));
  }
  for (const char* target : {"/a", "*", "a:1", "http:/a", "/http://b/a", "ftp://b/a"})
    EXPECT_EQ(parse(str("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")).request.target, target);
}

// RFC 9112, 6.1 and 6.3: framing that two readers might understand in two ways.
TEST(RequestParser, RefusesDoubtfulFraming) {
  for (const char* headers :
       {"Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: +5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length : 5\r\n",
        "Content-Length: 0x5\r\n", "X Y: 5\r\n", ": 5\r\n", "X: \x01\r\n"})
    EXPECT_EQ(parse(post(headers, "0\r\n\r\n")).status, 400) << headers;
  EXPECT_EQ(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 400);
}

TEST(RequestParser, KeepsToItsLimits) {
  EXPECT_EQ(parse(post("Content-Length: 100\r\n", std::string(100, 'x'))).status, 200);
  EXPECT_EQ(parse(post("Content-Length: 101\r\n", "")).status, 413);
  EXPECT_EQ(parse(post("Transfer-Encoding: chunked\r\n", "65\r\n")).status, 413);
  EXPECT_EQ(parse(get("Host: a\r\nX: " + std::string(1100, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(parse("GET /" + std::string(1100, 'x')).status, 431);
}

}  // namespace
}  // namespace mlxforge
