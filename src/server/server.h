// The HTTP server: listens from the start, answers /health while the model loads, and serves once
// set_model is called.
//
//   Server server(options);
//   server.drain_on_signals();
//   server.start();                       // listening; port() is known
//   ... build the engine with server.step_sink() ...
//   server.set_model(model);              // or set_failed(message)
//   server.wait();                        // until drained or stopped
//
// Any thread may call any function. The engine must have stopped calling the sink before the server
// is destroyed, and must live until wait() has returned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/service.h"
#include "server/access.h"
#include "server/http/limits.h"
#include "server/http/rate_limits.h"
#include "server/http/tls.h"
#include "server/model_context.h"

namespace mlxforge {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;               // 0: any free one
  std::filesystem::path unix_socket;  // listen here instead; empty: at host and port
  int unix_socket_mode = 0600;
  TlsFiles tls;
  int io_threads = 2;  // connections
  // Parsing, templates and tokenising of requests: a long prompt holds up no stream.
  int handler_threads = 2;
  HttpLimits limits;
  AccessRules access;
  RateRules rates;
  std::string otlp_endpoint;  // where spans of requests go; empty: where the environment says
  bool strict = false;        // a field that nobody knows is refused, not ignored
};

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();  // stops

  void start();             // throws Error when the address cannot be bound
  uint16_t port() const;    // 0: a Unix socket
  std::string url() const;  // where it listens

  StepSink step_sink();
  void set_model(std::shared_ptr<const ModelContext> model);
  void set_failed(std::string message);  // every request but /health gets 503 with it

  // SIGINT and SIGTERM: the first drains, the second ends the process at once, and so does any
  // while the model loads.
  void drain_on_signals();
  void drain();  // refuse new requests, finish those in flight, then stop
  void stop();   // drop every connection; what they had in the engine is cancelled
  void wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlxforge
