#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "server/api/openai_format.h"
#include "server/api/read_params.h"
#include "server/foreign_fields.h"
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

Result<TokenIds> encode_one(const OrderedJson& prompt, const GenerationParams& params,
                            const ApiCall& call) {
  const std::string& suffix = params.suffix;
  if (prompt.is_array()) {
    if (suffix.empty()) return prompt_ids(prompt, "prompt");
    return Status::invalid("with 'suffix' the prompt must be a string", "prompt");
  }
  const Tokenizer& tokenizer = *call.server.model->tokenizer;
  const auto& text = prompt.get_ref<const std::string&>();
  EncodeLimits limits = encode_limits(call);
  if (params.token_limit() == 0) limits.answer = 0;
  if (!suffix.empty()) return encode_fill_in_middle(tokenizer, text, suffix, limits);
  return encode_text(tokenizer, text, limits);
}

Result<Prompts> encode(GenerationParams& params, const ApiCall& call) {
  if (!params.suffix.empty() && params.echo)
    return Status::invalid("'suffix' cannot be combined with 'echo'", "suffix");
  const auto texts = split_prompts(std::move(params.prompt), "prompt", kMaxPrompts);
  if (!texts.ok()) return texts.status();
  Prompts prompts;
  for (const OrderedJson& text : texts.value()) {
    auto ids = encode_one(text, params, call);
    if (!ids.ok()) return ids.status();
    prompts.push_back(std::move(*ids));
  }
  return prompts;
}

}  // namespace

const GenerateEndpoint kCompletions = {
    .input = "prompt",
    .fields = {kFields, generation_fields(), openai_fields(), sampling_fields(),
               structured_output_fields(), foreign_fields(), foreign_completion_fields()},
    .encode = encode,
    .format = openai_format<kCompletionShape>};

ApiResult completions(const ApiCall& call) { return generate(call, kCompletions); }

}  // namespace mlxforge
