// The first half of every endpoint with a body: its fields, and that this model is the one meant.
#pragma once

#include "server/api/api.h"
#include "server/fields.h"
#include "server/json.h"

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

}  // namespace mlxforge
