// From the inputs of /v1/embeddings and /v1/rerank to requests for the engine.
#pragma once

#include <string>
#include <vector>

#include "server/json.h"
#include "server/model_context.h"
#include "server/prompts.h"
#include "text/prompt.h"

namespace mlxforge {

inline constexpr size_t kMaxEmbeddingInputs = 2048;

// Each input is a string or a list of ids; `param` is the field that they stand in. Fails where the
// model's files ask for something that is not supported.
Result<std::vector<Request>> embedding_requests(const std::vector<OrderedJson>& inputs,
                                                const char* param, int priority,
                                                const ModelContext& model,
                                                const EncodeLimits& limits);

}  // namespace mlxforge
