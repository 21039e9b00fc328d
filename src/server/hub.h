// Between the engine's worker thread and the connections. The worker leaves one message per step
// and goes on; each request's events gather in its mailbox on its connection's strand until the
// connection takes them. Nothing here waits for a reader: a mailbox that holds more tokens than its
// limit cancels its request.
//
// The hub outlives the engine that calls its sink and the tickets it gave out.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/strand.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "engine/service.h"

namespace mlxforge {

class Mailbox;
class Ticket;

class Hub {
 public:
  Hub(boost::asio::any_io_executor executor, size_t pending_tokens);

  // For the engine. Any one thread may call it.
  StepSink sink();

  // All of the requests, or none. From any thread. The ticket's events arrive on `strand`, where
  // alone it may be used.
  Result<Ticket> submit(EngineService& engine, std::vector<Request> requests,
                        boost::asio::any_io_executor strand);

 private:
  friend class Ticket;

  void deliver(std::vector<StepEvent> events);
  void forget(const std::vector<RequestId>& ids);

  boost::asio::strand<boost::asio::any_io_executor> order_;  // steps arrive one after another
  const size_t pending_tokens_;
  std::mutex mutex_;  // held over submit, so that no event arrives before its mailbox stands here
  struct Address {
    std::shared_ptr<Mailbox> mailbox;
    size_t request;  // among those that were submitted together
  };
  std::unordered_map<RequestId, Address> mailboxes_;
};

// What has happened to one choice of one of the requests that were submitted together.
struct Delivery {
  size_t request = 0;
  StepEvent event;
};

// Requests in the engine. Dropping it before their last events cancels them.
class Ticket {
 public:
  Ticket(Hub& hub, EngineService& engine, std::shared_ptr<Mailbox> mailbox)
      : hub_(&hub), engine_(&engine), mailbox_(std::move(mailbox)) {}
  Ticket(Ticket&&) = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket();

  // All that has happened since the last call, at most one event for each choice; waits until there
  // is something.
  boost::asio::awaitable<std::vector<Delivery>> take();
  // The engine may stop this choice; its last event is still to come.
  void cancel(size_t request, uint32_t choice) { engine_->cancel_choice(ids_[request], choice); }

 private:
  friend class Hub;

  Hub* hub_;
  EngineService* engine_;
  std::shared_ptr<Mailbox> mailbox_;  // null: moved from
  std::vector<RequestId> ids_;
  size_t n_finished_ = 0;
};

}  // namespace mlxforge
