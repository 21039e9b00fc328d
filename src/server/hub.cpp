#include "server/hub.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

namespace mlxforge {
namespace asio = boost::asio;

// Untaken events, merged into one. On its strand only.
class Mailbox {
 public:
  Mailbox(EngineService& engine, asio::any_io_executor strand, size_t limit)
      : engine_(engine),
        strand_(strand),
        filled_(strand, asio::steady_timer::time_point::max()),
        limit_(limit) {}

  const asio::any_io_executor& strand() const { return strand_; }

  void put(StepEvent event) {
    if (overflowed_) return;
    if (!event_) event_.emplace().id = event.id;
    event_->tokens.insert(event_->tokens.end(), event.tokens.begin(), event.tokens.end());
    event_->finish = event.finish;
    event_->error = std::move(event.error);
    event_->timings = event.timings;
    if (event_->tokens.size() > limit_) overflow();
    filled_.cancel();
  }

  asio::awaitable<StepEvent> take() {
    if (!event_) co_await filled_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!event_) throw boost::system::system_error(asio::error::operation_aborted);
    StepEvent event = std::move(*event_);
    event_.reset();
    co_return event;
  }

 private:
  void overflow() {
    overflowed_ = true;
    engine_.cancel(event_->id);
    event_->tokens.clear();
    event_->finish = FinishReason::error;
    event_->error = {Code::unavailable, "the client reads too slowly; its request was cancelled",
                     ""};
  }

  EngineService& engine_;
  const asio::any_io_executor strand_;
  asio::steady_timer filled_;  // never expires; cancelled when an event comes
  const size_t limit_;
  std::optional<StepEvent> event_;
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

Result<Ticket> Hub::submit(EngineService& engine, Request request, asio::any_io_executor strand) {
  auto mailbox = std::make_shared<Mailbox>(engine, std::move(strand), pending_tokens_);
  std::lock_guard lock(mutex_);
  Result<RequestId> id = engine.submit(std::move(request));
  if (!id.ok()) return id.status();
  mailboxes_.emplace(*id, mailbox);
  return Ticket(*this, engine, *id, std::move(mailbox));
}

void Hub::deliver(std::vector<StepEvent> events) {
  std::lock_guard lock(mutex_);
  for (StepEvent& event : events) {
    const auto found = mailboxes_.find(event.id);
    if (found == mailboxes_.end()) continue;  // nobody waits for it any more
    const auto& mailbox = found->second;
    asio::post(mailbox->strand(),
               [mailbox, event = std::move(event)]() mutable { mailbox->put(std::move(event)); });
  }
}

void Hub::forget(RequestId id) {
  std::lock_guard lock(mutex_);
  mailboxes_.erase(id);
}

Ticket::~Ticket() {
  if (!mailbox_) return;
  hub_->forget(id_);
  if (!finished_) engine_->cancel(id_);
}

asio::awaitable<StepEvent> Ticket::take() {
  StepEvent event = co_await mailbox_->take();
  finished_ = event.finish != FinishReason::none;
  co_return event;
}

}  // namespace mlxforge
