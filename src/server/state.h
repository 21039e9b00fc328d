// What the server is doing and with which model: loading -> ok -> draining, or failed. Any thread
// may call.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "server/metrics/metrics.h"
#include "server/model_context.h"
#include "server/response_store.h"

namespace mlxforge {

enum class Phase { loading, ok, draining, failed };

class ServerState {
 public:
  explicit ServerState(bool strict) : strict_(strict) {}

  void set_model(std::shared_ptr<const ModelContext> model);  // loading is over
  void set_failed(std::string why);                           // it never will be
  void set_draining();

  struct View {
    Phase phase = Phase::loading;
    std::shared_ptr<const ModelContext> model;  // null until it is loaded
    std::string why_failed;
    ServiceStats stats;                // zeros without a model
    bool strict = false;               // a field that nobody knows is refused, not ignored
    const Metrics* metrics = nullptr;  // never null in the view that a server makes
    double uptime_s = 0;
    int64_t loaded_at = 0;  // Unix seconds
    std::shared_ptr<ResponseStore> responses;
  };
  View view() const;
  Metrics metrics;

 private:
  const bool strict_;
  mutable std::mutex mutex_;
  bool draining_ = false;
  std::string why_failed_;
  std::shared_ptr<const ModelContext> model_;
  int64_t loaded_at_ = 0;
  const TimePoint start_ = Clock::now();
  const std::shared_ptr<ResponseStore> responses_ = std::make_shared<ResponseStore>();
};

const char* phase_name(Phase phase);
// Why requests are refused in this phase; ok when they are not.
Status availability(const ServerState::View& view);

}  // namespace mlxforge
