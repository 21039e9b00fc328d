#include "server/model_context.h"

#include <algorithm>

namespace mlxforge {

Status check_model(const std::string& name, const ModelContext& model) {
  if (name.empty() || name == model.id || name == "default" || name == "mlxforge") return {};
  if (std::ranges::find(model.aliases, name) != model.aliases.end()) return {};
  return {Code::not_found,
          str("the model '", name.substr(0, 100), "' does not exist here; this server runs '",
              model.id, "'"),
          "model"};
}

Status check_ids(const std::vector<int32_t>& ids, int n_ids, const char* param) {
  for (const int32_t id : ids)
    if (id < 0 || id >= n_ids)
      return Status::invalid(
          str("'", param, "' has the token id ", id, "; the model's ids are 0 to ", n_ids - 1),
          param);
  return {};
}

}  // namespace mlxforge
