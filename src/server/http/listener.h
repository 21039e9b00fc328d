// The socket on which clients arrive.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <filesystem>
#include <string>

namespace mlxforge {

using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

struct Listener {
  Acceptor acceptor;
  uint16_t port = 0;      // 0: a Unix socket
  bool loopback = false;  // only programs of this machine reach it, web pages in a browser too
};

// Both throw Error when the address cannot be had. `port` 0 takes any free one.
Listener listen_on_tcp(boost::asio::any_io_executor executor, const std::string& host,
                       uint16_t port);
// `mode`: the file's permissions, such as 0600. A socket file that nobody listens on any more is
// replaced.
Listener listen_on_unix(boost::asio::any_io_executor executor, const std::filesystem::path& path,
                        int mode);

}  // namespace mlxforge
