#include "server/http/listener.h"

#include <sys/stat.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>

#include "base/check.h"

namespace mlxforge {
namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;

namespace {

template <class Endpoint>
Acceptor bound(asio::any_io_executor executor, const Endpoint& endpoint) {
  Acceptor acceptor(executor, Acceptor::protocol_type(endpoint.protocol()));
  acceptor.set_option(asio::socket_base::reuse_address(true));
  acceptor.bind(endpoint);
  return acceptor;
}

tcp::endpoint local_endpoint(const Acceptor& acceptor) {
  tcp::endpoint endpoint;
  const auto generic = acceptor.local_endpoint();
  endpoint.resize(generic.size());
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  return endpoint;
}

// A socket file left behind by a server that was killed.
void remove_dead_socket(asio::any_io_executor executor, const std::filesystem::path& path) {
  std::error_code absent;
  if (!std::filesystem::is_socket(path, absent)) return;
  boost::system::error_code ec;
  Local::socket(executor).connect(Local::endpoint(path.string()), ec);
  if (ec == asio::error::connection_refused) std::filesystem::remove(path, absent);
}

}  // namespace

Listener listen_on_tcp(asio::any_io_executor executor, const std::string& host, uint16_t port) try {
  const auto found =
      tcp::resolver(executor).resolve(host, std::to_string(port), tcp::resolver::passive);
  Acceptor acceptor = bound(executor, found.begin()->endpoint());
  acceptor.listen();
  const tcp::endpoint here = local_endpoint(acceptor);
  return {std::move(acceptor), here.port(), here.address().is_loopback()};
} catch (const boost::system::system_error& e) {
  fail("server", "cannot listen on ", host, ":", port, " (", e.code().message(),
       "); choose another --host or --port");
}

// Nobody can connect before listen(), by when the permissions stand.
Listener listen_on_unix(asio::any_io_executor executor, const std::filesystem::path& path,
                        int mode) try {
  remove_dead_socket(executor, path);
  Acceptor acceptor = bound(executor, Local::endpoint(path.string()));
  if (chmod(path.c_str(), static_cast<mode_t>(mode)) != 0)
    throw boost::system::system_error(errno, boost::system::system_category());
  acceptor.listen();
  return {std::move(acceptor)};
} catch (const boost::system::system_error& e) {
  fail("server", "cannot listen on ", path.string(), " (", e.code().message(),
       "); choose another --unix-socket");
}

}  // namespace mlxforge
