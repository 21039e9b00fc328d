// What the endpoints have in common that answer with embeddings or with something made from them.
#pragma once

#include "server/api/read_params.h"
#include "server/error.h"
#include "server/ignored_fields.h"

namespace mlxforge {

template <class Params>
ApiResult embed(const ApiCall& call, FieldTablesOf<Params> tables,
                Result<Embedding> (*make)(Params&, const ApiCall&)) {
  auto params = read_params<Params>(call, tables);
  if (!params.ok()) return error_reply(params.status());
  auto embedding = make(*params, call);
  if (!embedding.ok()) return error_reply(embedding.status());
  embedding->engine = call.server.model->engine;
  embedding->headers = report_ignored(params->unknown);
  return std::move(*embedding);
}

}  // namespace mlxforge
