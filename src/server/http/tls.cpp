#include "server/http/tls.h"

#include "base/check.h"
#include "base/log.h"

namespace mlxforge {
namespace asio = boost::asio;

Tls::Tls(TlsFiles files) : files_(std::move(files)), loaded_(stamp()) { load(); }

asio::ssl::context& Tls::context() {
  const Stamp now = stamp();
  if (now == loaded_) return *context_;
  loaded_ = now;
  try {
    load();
    log_info("[server] the certificate was renewed from ", files_.certificate.string());
  } catch (const Error& e) {
    log_error(e.what(), "; the one before stays in use");
  }
  return *context_;
}

Tls::Stamp Tls::stamp() const {
  const auto time = [](const std::filesystem::path& file) {
    std::error_code absent;
    return std::filesystem::last_write_time(file, absent);
  };
  return {time(files_.certificate), time(files_.key)};
}

void Tls::load() try {
  auto next = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  next->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                    asio::ssl::context::no_tlsv1_1);
  next->use_certificate_chain_file(files_.certificate.string());
  next->use_private_key_file(files_.key.string(), asio::ssl::context::pem);
  if (SSL_CTX_check_private_key(next->native_handle()) != 1)
    fail("server", "the key in ", files_.key.string(), " is not that of the certificate in ",
         files_.certificate.string());
  context_ = std::move(next);
} catch (const boost::system::system_error& e) {
  fail("server", "expected a PEM certificate in ", files_.certificate.string(), " and its key in ",
       files_.key.string(), ", got: ", e.code().message());
}

}  // namespace mlxforge
