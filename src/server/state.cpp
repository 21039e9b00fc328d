#include "server/state.h"

namespace mlxforge {

void ServerState::set_model(std::shared_ptr<const ModelContext> model) {
  std::lock_guard lock(mutex_);
  model_ = std::move(model);
  loaded_at_ = std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
}

void ServerState::set_failed(std::string why) {
  std::lock_guard lock(mutex_);
  why_failed_ = why.empty() ? "unknown failure" : std::move(why);
}

void ServerState::set_draining() {
  std::lock_guard lock(mutex_);
  draining_ = true;
}

ServerState::View ServerState::view() const {
  View view;
  view.strict = strict_;
  view.metrics = &metrics;
  {
    std::lock_guard lock(mutex_);
    view.model = model_;
    view.why_failed = why_failed_;
    view.loaded_at = loaded_at_;
    view.phase = draining_ ? Phase::draining : model_ ? Phase::ok : Phase::loading;
  }
  view.responses = responses_;
  view.uptime_s = ms_between(start_, Clock::now()) / 1000;
  if (view.model) view.stats = view.model->engine->stats();
  if (view.stats.failed && view.why_failed.empty())
    view.why_failed = "the engine has stopped after a failure";
  if (!view.why_failed.empty()) view.phase = Phase::failed;
  return view;
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::loading:
      return "loading";
    case Phase::ok:
      return "ok";
    case Phase::draining:
      return "draining";
    case Phase::failed:
      return "failed";
  }
  return "failed";
}

Status availability(const ServerState::View& view) {
  switch (view.phase) {
    case Phase::ok:
      return {};
    case Phase::loading:
      return {Code::unavailable, "the model is still loading; try again in a moment", ""};
    case Phase::draining:
      return {Code::unavailable, "the server is shutting down and takes no new requests", ""};
    case Phase::failed:
      return {Code::unavailable, "the server has failed: " + view.why_failed, ""};
  }
  return {};
}

}  // namespace mlxforge
