// The first half of every endpoint with a body: its fields, that this model is the one meant, and
// what bounds the work on it.
#pragma once

#include "server/api/api.h"
#include "server/fields.h"
#include "server/json.h"
#include "text/prompt.h"

namespace mlxforge {

// `params`: what a request without any field asks for.
template <class Params>
Result<Params> read_params(const ApiCall& call, FieldTablesOf<Params> tables, Params params = {}) {
  auto body = parse_body(call.body);
  if (!body.ok()) return body.status();
  Status status = read_fields(*body, tables, params);
  if (status.ok()) status = check_model(params.model, *call.server.model);
  if (!status.ok()) return status;
  return params;
}

// `answer`: the tokens that the prompt must leave.
inline EncodeLimits encode_limits(const ApiCall& call, int answer = 1) {
  return {.context = call.server.model->max_ctx, .answer = answer, .cancel = call.cancel};
}

}  // namespace mlxforge
