#include "server/api/handlers.h"
#include "server/error.h"
#include "server/json.h"

namespace mlxforge {
namespace {

OrderedJson entry(const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  return {{"id", model.id},
          {"object", "model"},
          {"created", call.server.loaded_at},
          {"owned_by", "mlxforge"},
          {"max_model_len", model.max_ctx}};
}

}  // namespace

ApiResult models(const ApiCall& call) {
  return HttpReply{.body =
                       to_text({{"object", "list"}, {"data", OrderedJson::array({entry(call)})}})};
}

ApiResult model(const ApiCall& call) {
  const Status status = check_model(std::string(call.argument), *call.server.model);
  return status.ok() ? HttpReply{.body = to_text(entry(call))} : error_reply(status);
}

}  // namespace mlxforge
