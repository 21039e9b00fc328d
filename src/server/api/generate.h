// What the endpoints that generate text have in common, around what is theirs: their own fields,
// how the input becomes token ids, and how the answer looks.
#pragma once

#include <memory>
#include <vector>

#include "server/api/api.h"
#include "server/generation_fields.h"

namespace mlxforge {

struct GenerateEndpoint {
  const char* input;  // the field that the prompts are made from
  FieldTablesOf<GenerationParams> fields;
  // Checks what is the endpoint's own; moves from params.
  Result<Prompts> (*encode)(GenerationParams& params, const ApiCall& call);
  std::unique_ptr<AnswerFormat> (*format)(GenerationParams& params, const Prompts& prompts,
                                          const ServerState::View& server);
};

extern const GenerateEndpoint kChatCompletions;
extern const GenerateEndpoint kCompletions;
extern const GenerateEndpoint kMessages;
extern const GenerateEndpoint kResponses;

ApiResult generate(const ApiCall& call, const GenerateEndpoint& endpoint);

// The first half of it: what the body asks for, and its prompts.
struct ParsedRequest {
  GenerationParams params;
  Prompts prompts;
};
Result<ParsedRequest> parse_request(const ApiCall& call, const GenerateEndpoint& endpoint);

}  // namespace mlxforge
