#include "server/api/handlers.h"
#include "server/json.h"

namespace mlxforge {

ApiResult health(const ApiCall& call) {
  const ServerState::View& server = call.server;
  const ServiceStats& stats = server.stats;
  OrderedJson body = {
      {"status", phase_name(server.phase)},
      {"model", nullptr},
      {"running", stats.running},
      {"waiting", stats.waiting},
      {"max_waiting", stats.max_waiting},
      {"kv_blocks_total", stats.kv_blocks_total},
      {"kv_blocks_used", stats.kv_blocks_used},
      {"kv_blocks_cached", stats.kv_blocks_cached},
      {"uptime_s", server.uptime_s},
  };
  if (server.model) body["model"] = server.model->id;
  if (!server.why_failed.empty()) body["error"] = server.why_failed;
  return HttpReply{.status = server.phase == Phase::ok ? 200 : 503, .body = to_text(body)};
}

}  // namespace mlxforge
