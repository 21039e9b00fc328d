// What the endpoints that generate text have in common, around the two things that are theirs: how
// the input becomes token ids and how the answer looks.
#pragma once

#include <functional>

#include "server/api/api.h"
#include "server/api/openai_format.h"
#include "server/fields.h"

namespace mlxforge {

struct GenerateEndpoint {
  std::span<const Field> fields;  // beside generation_fields()
  const AnswerShape& shape;
  Result<std::vector<int32_t>> (*encode)(OrderedJson& input, const ModelContext& model);
};

extern const GenerateEndpoint kChatCompletions;
extern const GenerateEndpoint kCompletions;

ApiResult generate(const ApiCall& call, const GenerateEndpoint& endpoint);

}  // namespace mlxforge
