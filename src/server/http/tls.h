// The server's certificate. Renewed files are noticed when the next client connects; files that
// cannot be used leave the certificate as it was, and the log says why. One thread at a time.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <filesystem>
#include <memory>
#include <utility>

namespace mlxforge {

struct TlsFiles {
  std::filesystem::path certificate;  // PEM, the chain after it; empty: no TLS
  std::filesystem::path key;          // PEM
};

class Tls {
 public:
  explicit Tls(TlsFiles files);  // throws Error when they cannot be used

  // For the next connection.
  boost::asio::ssl::context& context();

 private:
  using Stamp = std::pair<std::filesystem::file_time_type, std::filesystem::file_time_type>;
  Stamp stamp() const;  // of the files now
  void load();

  const TlsFiles files_;
  Stamp loaded_;
  std::unique_ptr<boost::asio::ssl::context> context_;
};

}  // namespace mlxforge
