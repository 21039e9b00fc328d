// The fields that every endpoint which generates text shares.
#pragma once

#include <span>

#include "engine/service.h"
#include "server/fields.h"
#include "server/model_context.h"

namespace mlxforge {

std::span<const Field> generation_fields();

// What a request without any field asks of this model.
GenerationParams default_params(const ModelContext& model);

// Whether the request may be answered by this model: by its id, an alias, `default`, `mlxforge` or
// no name at all.
Status check_model(const std::string& name, const ModelContext& model);

// The engine's request for this prompt: defaults filled in, ids and limits checked against the
// model.
Result<Request> engine_request(GenerationParams& params, std::vector<int32_t> prompt,
                               const ModelContext& model);

}  // namespace mlxforge
