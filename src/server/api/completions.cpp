#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

using enum FieldType;

Status set_prompt(OrderedJson& value, GenerationParams& params) {
  params.input = std::move(value);
  return {};
}

constexpr Field kFields[] = {
    {"prompt", any, set_prompt},
    // Features to come.
    later("best_of", integer, "1", 1, 128),
    later("echo", boolean, "false"),
    later("logprobs", integer, "null"),
    later("suffix", string, R"("")"),
};

Status wrong_prompt() {
  return Status::invalid(
      "'prompt' must be a string, a list of token ids, or a list with one of these", "prompt");
}

Result<std::vector<int32_t>> read_ids(const OrderedJson& list) {
  std::vector<int32_t> ids;
  if (Status status = read_token_ids(list, "prompt", ids); !status.ok()) return status;
  return ids;
}

bool is_list_of_prompts(const OrderedJson& prompt) {
  return prompt.is_array() && !prompt.empty() && (prompt[0].is_string() || prompt[0].is_array());
}

Result<std::vector<int32_t>> encode(OrderedJson& prompt, const ModelContext& model) {
  if (is_list_of_prompts(prompt)) {
    if (prompt.size() > 1)
      return Status::invalid("several prompts in one request are not supported yet; send one",
                             "prompt");
    prompt = OrderedJson(std::move(prompt[0]));
  }
  if (prompt.is_string())
    return encode_text(*model.tokenizer, prompt.get_ref<const std::string&>());
  if (prompt.is_array()) return read_ids(prompt);
  return wrong_prompt();
}

}  // namespace

const GenerateEndpoint kCompletions = {
    .fields = kFields, .shape = kCompletionShape, .encode = encode};

ApiResult completions(const ApiCall& call) { return generate(call, kCompletions); }

}  // namespace mlxforge
