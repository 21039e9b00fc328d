#include "server/hub.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace mlxforge {
namespace asio = boost::asio;

// Untaken events, those of a choice merged into one. On its strand only.
class Mailbox {
 public:
  Mailbox(EngineService& engine, asio::any_io_executor strand, size_t limit)
      : engine_(engine),
        strand_(strand),
        filled_(strand, asio::steady_timer::time_point::max()),
        limit_(limit) {}

  const asio::any_io_executor& strand() const { return strand_; }

  void put(size_t request, StepEvent event) {
    if (overflowed_) return;
    n_tokens_ += event.tokens.size();
    const auto same = [&](const Delivery& d) {
      return d.request == request && d.event.choice == event.choice;
    };
    const auto found = std::ranges::find_if(waiting_, same);
    if (n_tokens_ > limit_)
      overflow(request, event.id);
    else if (found == waiting_.end())
      waiting_.push_back({request, std::move(event)});
    else
      merge(found, std::move(event));
    filled_.cancel();
  }

  asio::awaitable<std::vector<Delivery>> take() {
    if (waiting_.empty()) co_await filled_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (waiting_.empty()) throw boost::system::system_error(asio::error::operation_aborted);
    n_tokens_ = 0;
    co_return std::exchange(waiting_, {});
  }

 private:
  template <class T>
  static void append(std::vector<T>& to, std::vector<T> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  void merge(std::vector<Delivery>::iterator delivery, StepEvent next) {
    StepEvent& event = delivery->event;
    append(event.tokens, std::move(next.tokens));
    append(event.logprobs, std::move(next.logprobs));
    append(event.prompt_logprobs, std::move(next.prompt_logprobs));
    event.embedding = std::move(next.embedding);
    event.finish = next.finish;
    event.error = std::move(next.error);
    event.timings = next.timings;
    event.last = next.last;
    // The request's last event stays behind those of its other choices.
    if (event.last) std::rotate(delivery, delivery + 1, waiting_.end());
  }

  // Whoever takes this drops its ticket, which cancels the other requests.
  void overflow(size_t request, RequestId id) {
    overflowed_ = true;
    engine_.cancel(id);
    StepEvent failure{.id = id, .finish = FinishReason::error};
    failure.error = {Code::unavailable, "the client reads too slowly; its request was cancelled",
                     ""};
    failure.last = true;
    waiting_.assign(1, {request, std::move(failure)});
  }

  EngineService& engine_;
  const asio::any_io_executor strand_;
  asio::steady_timer filled_;  // never expires; cancelled when an event comes
  const size_t limit_;
  std::vector<Delivery> waiting_;
  size_t n_tokens_ = 0;  // among those waiting
  bool overflowed_ = false;
};

Hub::Hub(asio::any_io_executor executor, size_t pending_tokens)
    : order_(asio::make_strand(executor)), pending_tokens_(pending_tokens) {}

StepSink Hub::sink() {
  return [this](std::vector<StepEvent> events) {
    asio::post(order_,
               [this, events = std::move(events)]() mutable { deliver(std::move(events)); });
  };
}

Result<Ticket> Hub::submit(EngineService& engine, std::vector<Request> requests,
                           asio::any_io_executor strand) {
  auto mailbox = std::make_shared<Mailbox>(engine, std::move(strand), pending_tokens_);
  Ticket ticket(*this, engine, mailbox);
  for (size_t i = 0; i < requests.size(); ++i) {
    std::lock_guard lock(mutex_);
    Result<RequestId> id = engine.submit(std::move(requests[i]));
    if (!id.ok()) return id.status();  // the ticket cancels those before it
    ticket.ids_.push_back(*id);
    mailboxes_.emplace(*id, Address{mailbox, i});
  }
  return Result<Ticket>(std::move(ticket));
}

void Hub::deliver(std::vector<StepEvent> events) {
  std::lock_guard lock(mutex_);
  for (StepEvent& event : events) {
    const auto found = mailboxes_.find(event.id);
    if (found == mailboxes_.end()) continue;  // nobody waits for it any more
    const auto& [mailbox, request] = found->second;
    asio::post(mailbox->strand(), [mailbox, request, event = std::move(event)]() mutable {
      mailbox->put(request, std::move(event));
    });
  }
}

void Hub::forget(const std::vector<RequestId>& ids) {
  std::lock_guard lock(mutex_);
  for (const RequestId id : ids) mailboxes_.erase(id);
}

Ticket::~Ticket() {
  if (!mailbox_) return;
  hub_->forget(ids_);
  if (n_finished_ == ids_.size()) return;
  for (const RequestId id : ids_) engine_->cancel(id);
}

asio::awaitable<std::vector<Delivery>> Ticket::take() {
  std::vector<Delivery> deliveries = co_await mailbox_->take();
  for (const Delivery& delivery : deliveries) n_finished_ += delivery.event.last;
  co_return deliveries;
}

}  // namespace mlxforge
