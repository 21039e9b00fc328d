#include "server/api/generate.h"
#include "server/api/handlers.h"
#include "server/api/openai_format.h"
#include "server/api/read_params.h"
#include "server/foreign_fields.h"
#include "server/reasoning_fields.h"
#include "server/sampling_fields.h"
#include "server/structured_output.h"
#include "server/tools.h"

namespace mlxforge {
namespace {

using enum FieldType;

Status join_logprobs(GenerationParams& params) {
  const int top = params.top_logprobs.value_or(0);
  if (params.chat_logprobs) params.logprobs = top;
  if (top == 0 || params.chat_logprobs) return {};
  return Status::invalid("'top_logprobs' needs 'logprobs' to be true", "top_logprobs");
}

constexpr Field kFields[] = {
    {"logprobs", boolean, set_boolean<&GenerationParams::chat_logprobs>},
    {"top_logprobs", integer, set_integer<&GenerationParams::top_logprobs>, 0, kMaxLogprobs},
    {"reasoning_effort", string,
     [](OrderedJson& value, GenerationParams& params) {
       return read_effort(value, "reasoning_effort", params);
     }},
    // Features to come.
    later("documents", array, "[]"),
    later("verbosity", string, "null"),
    later("modalities", array, R"(["text"])"),
    later("audio", object, "null"),
    later("prediction", object, "null"),
    later("web_search_options", object, "null"),
};

Result<Prompts> encode(GenerationParams& params, const ApiCall& call) {
  if (Status status = join_logprobs(params); !status.ok()) return status;
  const ModelContext& model = *call.server.model;
  auto input = chat_input(params);
  if (!input.ok()) return input.status();
  if (Status status = plan_reasoning(params, model, *input); !status.ok()) return status;
  if (Status status = plan_tools(params, model, *input); !status.ok()) return status;
  auto ids = encode_conversation(params, *input, model, encode_limits(call));
  if (!ids.ok()) return ids.status();
  locate_answer(params, model, *input, *ids);
  return Prompts{std::move(*ids)};
}

}  // namespace

const GenerateEndpoint kChatCompletions = {
    .input = "messages",
    .fields = {kChatFields<GenerationParams>, kFields, tool_fields(), reasoning_fields(),
               generation_fields(), openai_fields(), sampling_fields(), structured_output_fields(),
               foreign_fields(), foreign_chat_fields()},
    .encode = encode,
    .format = openai_format<kChatShape>};

ApiResult chat_completions(const ApiCall& call) { return generate(call, kChatCompletions); }

}  // namespace mlxforge
