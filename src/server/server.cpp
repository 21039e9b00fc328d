#include "server/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>

#include "base/log.h"
#include "server/error.h"
#include "server/exchange.h"
#include "server/http/connection.h"
#include "server/http/listener.h"
#include "server/tracing.h"

namespace mlxforge {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr int kOtherDescriptors = 256;  // files, pipes, event queues

// Every connection is a descriptor, and the usual soft limit of 1024 is soon reached.
void allow_descriptors(int n) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur =
      std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, static_cast<rlim_t>(n)));
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(ServerOptions options)
      : state(options.strict),
        options_(std::move(options)),
        strand_(asio::make_strand(io_)),
        acceptor_(strand_),
        signals_(strand_),
        handlers_(static_cast<size_t>(options_.handler_threads)),
        limits_(options_.rates),
        hub_(io_.get_executor(), options_.limits.pending_tokens) {}

  ~Impl() {
    shut_down();
    wait();
  }

  void start() {
    std::signal(SIGPIPE, SIG_IGN);  // a write to a closed connection is an error code
    allow_descriptors(options_.limits.connections + kOtherDescriptors);
    if (!options_.tls.certificate.empty()) tls_.emplace(options_.tls);
    tracing_ = start_tracing(options_.otlp_endpoint);
    Listener listener = listen();
    acceptor_ = std::move(listener.acceptor);
    port_ = listener.port;
    access_.emplace(options_.access, listener.loopback);
    if (port_ != 0 && !listener.loopback && options_.access.keys.empty())
      log_warn("[server] anybody who reaches ", options_.host, ":", port_,
               " may use it: there is no --api-key");
    log_info("[server] listening on ", url(),
             "; until the model is ready, requests get 503 and /health says loading");
    asio::co_spawn(strand_, accept(), asio::detached);
    for (int i = 0; i < options_.io_threads; ++i) threads_.emplace_back([this] { io_.run(); });
  }

  uint16_t port() const { return port_; }
  std::string url() const {
    if (!options_.unix_socket.empty()) return "unix:" + options_.unix_socket.string();
    return str(tls_ ? "https://" : "http://", options_.host, ":", port_);
  }

  void drain_on_signals() {
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    asio::co_spawn(strand_, follow_signals(), asio::detached);
  }

  void drain() {
    state.set_draining();
    draining_ = true;
    if (in_flight_ == 0) shut_down();
  }

  void shut_down() {
    asio::post(strand_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      std::error_code absent;
      if (!options_.unix_socket.empty()) std::filesystem::remove(options_.unix_socket, absent);
      signals_.clear(ignored);  // a further signal ends the process, as it would any other
      signals_.cancel(ignored);
      std::lock_guard lock(mutex_);
      for (const auto& connection : connections_) connection->close();
    });
  }

  void wait() {
    std::lock_guard lock(wait_mutex_);
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    handlers_.join();
  }

  StepSink step_sink() { return hub_.sink(); }

  ServerState state;

 private:
  // A request from its last byte in to its answer's last byte out; the last one to end finishes a
  // drain.
  struct InFlight {
    explicit InFlight(Impl& server) : server(server) { ++server.in_flight_; }
    ~InFlight() {
      if (--server.in_flight_ == 0 && server.draining_) server.shut_down();
    }
    Impl& server;
  };

  Listener listen() {
    if (options_.unix_socket.empty()) return listen_on_tcp(strand_, options_.host, options_.port);
    return listen_on_unix(strand_, options_.unix_socket, options_.unix_socket_mode);
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause(strand_);
    for (;;) {
      auto [ec, socket] =
          co_await acceptor_.async_accept(asio::any_io_executor(asio::make_strand(io_)), kTuple);
      if (!acceptor_.is_open()) co_return;
      if (!ec) {
        admit(std::move(socket));
        continue;
      }
      pause.expires_after(kAcceptPause);  // out of descriptors, most likely
      co_await pause.async_wait(kTuple);
    }
  }

  void admit(Stream::Socket socket) {
    error_code ignored;
    if (port_ != 0) socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    std::lock_guard lock(mutex_);
    if (connections_.size() >= static_cast<size_t>(options_.limits.connections))
      return turn_away(std::move(socket));
    const auto serve = [this](const HttpRequest& request, ResponseWriter& out) {
      return this->serve(request, out);
    };
    const auto refuse = [](int status, const char* message) {
      return plain_error(status, message);
    };
    const auto executor = socket.get_executor();
    auto connection = std::make_shared<Connection>(
        std::move(socket), tls_ ? &tls_->context() : nullptr, options_.limits, serve, refuse);
    connections_.insert(connection);
    asio::co_spawn(executor, host(std::move(connection)), asio::detached);
  }

  static void turn_away(Stream::Socket socket) {
    const HttpReply reply =
        error_reply({Code::unavailable, "this server has as many connections as it accepts", ""});
    const std::string bytes =
        response_head(reply, {.size = reply.body.size(), .keep_alive = false}) + reply.body;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(bytes), ignored);  // a fresh connection's buffer holds it
    socket.shutdown(asio::socket_base::shutdown_send, ignored);
  }

  asio::awaitable<void> host(std::shared_ptr<Connection> connection) {
    co_await connection->run();
    std::lock_guard lock(mutex_);
    connections_.erase(connection);
  }

  asio::awaitable<void> serve(const HttpRequest& request, ResponseWriter& out) {
    const InFlight in_flight(*this);
    if (draining_) out.close_after();
    co_await serve_exchange({.access = *access_,
                             .limits = limits_,
                             .tracing = tracing_.get(),
                             .state = state,
                             .hub = hub_,
                             .handlers = handlers_},
                            request, out);
  }

  asio::awaitable<void> follow_signals() {
    for (bool first = true;; first = false) {
      const auto [ec, signal] = co_await signals_.async_wait(kTuple);
      if (ec) co_return;
      if (!first) std::_Exit(128 + signal);
      if (state.view().phase == Phase::loading) {
        log_info("[server] ending while the model loads: nothing was in flight");
        std::_Exit(0);  // loading cannot be interrupted
      }
      log_info("[server] finishing the requests in flight; a second signal ends at once");
      drain();
    }
  }

  const ServerOptions options_;
  asio::io_context io_;
  asio::strand<asio::io_context::executor_type> strand_;  // acceptor, signals and shutting down
  Acceptor acceptor_;
  std::optional<Tls> tls_;  // on the acceptor's strand
  uint16_t port_ = 0;
  std::optional<const Access> access_;  // once the address is known
  asio::signal_set signals_;
  asio::thread_pool handlers_;
  RateLimits limits_;
  std::unique_ptr<const Tracing> tracing_;
  Hub hub_;
  std::atomic<int> in_flight_ = 0;
  std::atomic<bool> draining_ = false;
  std::mutex mutex_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::mutex wait_mutex_;
  std::vector<std::thread> threads_;
};

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() = default;

void Server::start() { impl_->start(); }
uint16_t Server::port() const { return impl_->port(); }
std::string Server::url() const { return impl_->url(); }
StepSink Server::step_sink() { return impl_->step_sink(); }
void Server::set_model(std::shared_ptr<const ModelContext> model) {
  impl_->state.set_model(std::move(model));
}
void Server::set_failed(std::string message) { impl_->state.set_failed(std::move(message)); }
void Server::drain_on_signals() { impl_->drain_on_signals(); }
void Server::drain() { impl_->drain(); }
void Server::stop() { impl_->shut_down(); }
void Server::wait() { impl_->wait(); }

}  // namespace mlxforge
