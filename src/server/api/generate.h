// What the endpoints that generate text have in common, around what is theirs: their own fields,
// how the input becomes token ids, and how the answer looks.
#pragma once

#include <functional>

#include "server/api/api.h"
#include "server/api/openai_format.h"
#include "server/generation_fields.h"

namespace mlxforge {

struct GenerateEndpoint {
  std::span<const Field> fields;  // beside those of generation
  std::span<const Field> tool_fields = {};
  const AnswerShape& shape;
  // Checks what is the endpoint's own; moves params.input.
  Result<Prompts> (*encode)(GenerationParams& params, const ModelContext& model);
};

extern const GenerateEndpoint kChatCompletions;
extern const GenerateEndpoint kCompletions;

ApiResult generate(const ApiCall& call, const GenerateEndpoint& endpoint);

}  // namespace mlxforge
