#include "server/api/handlers.h"
#include "server/json.h"

namespace mlxforge {

ApiResult models(const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  const OrderedJson entry = {
      {"id", model.id},
      {"object", "model"},
      {"created", call.server.loaded_at},
      {"owned_by", "mlxforge"},
      {"max_model_len", model.max_ctx},
  };
  return HttpReply{.body = to_text({{"object", "list"}, {"data", OrderedJson::array({entry})}})};
}

}  // namespace mlxforge
