#include "server/embedding_inputs.h"

#include "text/tokenizer.h"

namespace mlxforge {
namespace {

// A string gets what the tokenizer puts around texts, BOS and EOS.
Result<TokenIds> encode(const OrderedJson& input, const char* param, const ModelContext& model) {
  if (input.is_array()) return prompt_ids(input, param);
  return model.tokenizer->encode(input.get_ref<const std::string&>(), {.add_special = true});
}

}  // namespace

Result<std::vector<Request>> embedding_requests(const std::vector<OrderedJson>& inputs,
                                                const char* param, int priority,
                                                const ModelContext& model) {
  if (!model.embedding.unusable.empty()) return Status::invalid(model.embedding.unusable, "model");
  std::vector<Request> requests;
  for (const OrderedJson& input : inputs) {
    auto ids = encode(input, param, model);
    if (!ids.ok()) return ids.status();
    if (ids->empty()) return Status::invalid(str("'", param, "' must not be empty"), param);
    if (Status status = check_ids(*ids, model.vocab_size, param); !status.ok()) return status;
    requests.push_back(
        {.prompt = std::move(*ids), .priority = priority, .pooling = model.embedding.pooling});
  }
  return requests;
}

}  // namespace mlxforge
