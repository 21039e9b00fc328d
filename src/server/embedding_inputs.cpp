#include "server/embedding_inputs.h"

namespace mlxforge {
namespace {

Result<TokenIds> encode(const OrderedJson& input, const char* param, const ModelContext& model,
                        const EncodeLimits& limits) {
  if (input.is_array()) return prompt_ids(input, param);
  auto ids = encode_whole(*model.tokenizer, input.get_ref<const std::string&>(), limits);
  if (!ids.ok()) return about_input(ids.status(), param);
  return ids;
}

}  // namespace

Result<std::vector<Request>> embedding_requests(const std::vector<OrderedJson>& inputs,
                                                const char* param, int priority,
                                                const ModelContext& model,
                                                const EncodeLimits& limits) {
  if (!model.embedding.unusable.empty()) return Status::invalid(model.embedding.unusable, "model");
  std::vector<Request> requests;
  for (const OrderedJson& input : inputs) {
    auto ids = encode(input, param, model, limits);
    if (!ids.ok()) return ids.status();
    if (ids->empty()) return Status::invalid(str("'", param, "' must not be empty"), param);
    if (Status status = check_ids(*ids, model.vocab_size, param); !status.ok()) return status;
    requests.push_back(
        {.prompt = std::move(*ids), .priority = priority, .pooling = model.embedding.pooling});
  }
  return requests;
}

}  // namespace mlxforge
