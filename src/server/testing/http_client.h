// A plain blocking HTTP/1.1 client over POSIX sockets, for tests: it shares no code with the
// server. Every wait is bounded.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mlxforge {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
};

class HttpClient {
 public:
  explicit HttpClient(uint16_t port, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("connect failed");
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False when the server has closed meanwhile.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  HttpAnswer get(const std::string& path) {
    send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return read();
  }
  bool send_post(const std::string& path, const std::string& body) {
    return send(
        "POST " + path +
        " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  HttpAnswer post(const std::string& path, const std::string& body) {
    send_post(path, body);
    return read();
  }

  // The next response. Throws when the connection ends before it does. 1xx responses are passed
  // over.
  HttpAnswer read() {
    HttpAnswer answer;
    do {
      read_head(answer);
    } while (answer.status / 100 == 1);
    if (answer.headers["transfer-encoding"] == "chunked")
      read_chunks(answer.body);
    else if (answer.headers.contains("content-length"))
      answer.body = take(std::stoul(answer.headers["content-length"]));
    else
      answer.body = read_to_end();
    return answer;
  }

  // Reads on until `text` has come.
  bool wait_for(std::string_view text) {
    while (buffer_.find(text) == std::string::npos)
      if (!fill()) return false;
    return true;
  }
  std::string read_to_end() {
    while (fill()) {
    }
    return std::move(buffer_);
  }
  bool closed_by_server() { return buffer_.empty() && !fill(); }

  void close_sending() { shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

 private:
  bool fill() {
    char part[16384];
    const ssize_t n = recv(fd_, part, sizeof part, 0);
    if (n < 0 && errno == EAGAIN) throw std::runtime_error("the server said nothing for too long");
    if (n > 0) buffer_.append(part, static_cast<size_t>(n));
    return n > 0;
  }
  std::string take(size_t n) {
    while (buffer_.size() < n)
      if (!fill()) throw std::runtime_error("the connection ended inside a response");
    std::string out = buffer_.substr(0, n);
    buffer_.erase(0, n);
    return out;
  }
  std::string take_line() {
    size_t end;
    while ((end = buffer_.find("\r\n")) == std::string::npos)
      if (!fill()) throw std::runtime_error("the connection ended inside a response");
    return take(end + 2).substr(0, end);
  }
  void read_head(HttpAnswer& answer) {
    answer.status = std::stoi(take_line().substr(9));
    for (std::string line = take_line(); !line.empty(); line = take_line()) {
      std::string name = line.substr(0, line.find(':'));
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      answer.headers[name] = line.substr(line.find(':') + 2);
    }
  }
  void read_chunks(std::string& body) {
    for (size_t n = 1; n > 0;) {
      n = std::stoul(take_line(), nullptr, 16);
      body += take(n);
      take_line();
    }
  }

  int fd_;
  std::string buffer_;
};

}  // namespace mlxforge
