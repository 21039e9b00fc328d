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

  // From any thread. The ticket's events arrive on `strand`, where alone it may be used.
  Result<Ticket> submit(EngineService& engine, Request request,
                        boost::asio::any_io_executor strand);

 private:
  friend class Ticket;

  void deliver(std::vector<StepEvent> events);
  void forget(RequestId id);

  boost::asio::strand<boost::asio::any_io_executor> order_;  // steps arrive one after another
  const size_t pending_tokens_;
  std::mutex mutex_;  // held over submit, so that no event arrives before its mailbox stands here
  std::unordered_map<RequestId, std::shared_ptr<Mailbox>> mailboxes_;
};

// A request in the engine. Dropping it before its last event cancels the request.
class Ticket {
 public:
  Ticket(Hub& hub, EngineService& engine, RequestId id, std::shared_ptr<Mailbox> mailbox)
      : hub_(&hub), engine_(&engine), id_(id), mailbox_(std::move(mailbox)) {}
  Ticket(Ticket&&) = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket();

  // All that has happened since the last call, as one event; waits until there is something.
  boost::asio::awaitable<StepEvent> take();
  // The engine may stop; the last event is still to come.
  void cancel() { engine_->cancel(id_); }

 private:
  Hub* hub_;
  EngineService* engine_;
  RequestId id_;
  std::shared_ptr<Mailbox> mailbox_;  // null: moved from
  bool finished_ = false;
};

}  // namespace mlxforge
