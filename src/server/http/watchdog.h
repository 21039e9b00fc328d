// Shuts a socket down when its current operation has taken too long. Lives in the connection and on
// its strand. Arming is a store as long as the deadline moves forward, so it may be done for every
// write.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "base/clock.h"
#include "server/http/stream.h"

namespace mlxforge {

class Watchdog {
 public:
  explicit Watchdog(Stream::Socket& socket) : socket_(socket), timer_(socket.get_executor()) {}

  // `owner` keeps this object alive until the wait ends; call stop() when the connection ends.
  void arm(std::chrono::milliseconds time, std::shared_ptr<void> owner) {
    deadline_ = Clock::now() + time;
    if (!waiting_ || deadline_ < timer_.expiry()) wait(std::move(owner));
  }
  void disarm() { deadline_ = TimePoint::max(); }
  void stop() { timer_.cancel(); }

 private:
  void wait(std::shared_ptr<void> owner) {
    waiting_ = true;
    timer_.expires_at(deadline_);
    timer_.async_wait([this, owner](boost::system::error_code ec) {
      if (ec) return;
      waiting_ = false;
      if (deadline_ == TimePoint::max()) return;
      if (Clock::now() < deadline_) return wait(owner);
      socket_.shutdown(boost::asio::socket_base::shutdown_both, ec);
    });
  }

  Stream::Socket& socket_;
  boost::asio::steady_timer timer_;
  TimePoint deadline_ = TimePoint::max();
  bool waiting_ = false;
};

}  // namespace mlxforge
