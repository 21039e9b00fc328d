#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "server/api/openai_format.h"
#include "server/sampling_fields.h"
#include "server/structured_output.h"
#include "text/fill_in_middle.h"

namespace mlxforge {
namespace {

using enum FieldType;

constexpr size_t kMaxPrompts = 128;

constexpr Field kFields[] = {
    {"prompt", any, set_json<&GenerationParams::prompt>},
    {"suffix", string, set_string<&GenerationParams::suffix>},
    {"best_of", integer, set_integer<&GenerationParams::best_of>, 1, 128},
    {"echo", boolean, set_boolean<&GenerationParams::echo>},
    {"logprobs", integer, set_integer<&GenerationParams::logprobs>, 0, kMaxLogprobs},
};

Status wrong_prompt() {
  return Status::invalid(
      "'prompt' must be a string, a list of token ids, or a list of strings or of lists of token "
      "ids",
      "prompt");
}

Result<std::vector<int32_t>> read_ids(const OrderedJson& list) {
  std::vector<int32_t> ids;
  if (Status status = read_token_ids(list, "prompt", ids); !status.ok()) return status;
  return ids;
}

bool is_list_of_prompts(const OrderedJson& prompt) {
  return prompt.is_array() && !prompt.empty() && (prompt[0].is_string() || prompt[0].is_array());
}

Result<std::vector<int32_t>> encode_one(const OrderedJson& prompt, const std::string& suffix,
                                        const ApiCall& call) {
  const Tokenizer& tokenizer = *call.server.model->tokenizer;
  if (!suffix.empty() && !prompt.is_string())
    return Status::invalid("with 'suffix' the prompt must be a string", "prompt");
  if (!suffix.empty())
    return encode_fill_in_middle(tokenizer, prompt.get_ref<const std::string&>(), suffix);
  if (prompt.is_string())
    return encode_text(tokenizer, prompt.get_ref<const std::string&>(), encode_limits(call));
  if (prompt.is_array()) return read_ids(prompt);
  return wrong_prompt();
}

Result<Prompts> encode(GenerationParams& params, const ApiCall& call) {
  if (!params.suffix.empty() && params.echo)
    return Status::invalid("'suffix' cannot be combined with 'echo'", "suffix");
  OrderedJson prompt = std::move(params.prompt);
  if (!is_list_of_prompts(prompt)) prompt = OrderedJson::array({std::move(prompt)});
  if (prompt.size() > kMaxPrompts)
    return Status::invalid(
        str("'prompt' takes at most ", kMaxPrompts, " prompts, got ", prompt.size()), "prompt");
  Prompts prompts;
  for (const OrderedJson& one : prompt) {
    auto ids = encode_one(one, params.suffix, call);
    if (!ids.ok()) return ids.status();
    prompts.push_back(std::move(*ids));
  }
  return prompts;
}

}  // namespace

const GenerateEndpoint kCompletions = {.fields = {kFields, generation_fields(), openai_fields(),
                                                  sampling_fields(), structured_output_fields()},
                                       .encode = encode,
                                       .format = openai_format<kCompletionShape>};

ApiResult completions(const ApiCall& call) { return generate(call, kCompletions); }

}  // namespace mlxforge
