// The handlers that endpoints.cpp lists.
#pragma once

#include "server/api/api.h"
#include "server/fields.h"

namespace mlxforge {

ApiResult chat_page(const ApiCall& call);
ApiResult health(const ApiCall& call);
ApiResult metrics(const ApiCall& call);
ApiResult openapi(const ApiCall& call);
ApiResult models(const ApiCall& call);
ApiResult model(const ApiCall& call);
ApiResult chat_completions(const ApiCall& call);
ApiResult completions(const ApiCall& call);
ApiResult messages(const ApiCall& call);
ApiResult count_tokens(const ApiCall& call);
ApiResult responses(const ApiCall& call);
ApiResult get_response(const ApiCall& call);
ApiResult delete_response(const ApiCall& call);
ApiResult input_items(const ApiCall& call);
ApiResult embeddings(const ApiCall& call);
ApiResult rerank(const ApiCall& call);
ApiResult tokenize(const ApiCall& call);
ApiResult detokenize(const ApiCall& call);

// The fields of these endpoints' bodies; generate.h has those of the others.
std::vector<FieldRule> embedding_fields();
std::vector<FieldRule> rerank_fields();
std::vector<FieldRule> tokenize_fields();
std::vector<FieldRule> detokenize_fields();
// What this endpoint's query string may hold.
std::vector<FieldRule> input_items_query();

}  // namespace mlxforge
