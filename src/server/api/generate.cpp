#include "server/api/generate.h"

#include "base/log.h"
#include "server/error.h"
#include "server/generation_fields.h"
#include "server/sampling_fields.h"
#include "server/structured_output.h"

namespace mlxforge {
namespace {

constexpr size_t kReportedNames = 16;
constexpr size_t kReportedBytes = 64;

// Names come from the client and go into a header and the log: printable ASCII without separators
// only, and not too many.
std::string list_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kReportedNames; ++i) {
    if (i > 0) out += ", ";
    for (const unsigned char c : names[i].substr(0, kReportedBytes))
      out += c > 0x20 && c < 0x7f && c != ',' ? static_cast<char>(c) : '?';
  }
  return out;
}

HttpHeaders report_unknown(const std::vector<std::string>& unknown) {
  if (unknown.empty()) return {};
  const std::string names = list_names(unknown);
  log_info("[server] request fields that nobody knows were ignored: ", names);
  return {{kIgnoredFields, names}};
}

Result<Generation> make_generation(const ApiCall& call, const GenerateEndpoint& endpoint) {
  const auto& model = call.server.model;
  auto body = parse_body(call.body);
  if (!body.ok()) return body.status();
  GenerationParams params = default_params(*model);
  const FieldTablesOf<GenerationParams> tables = {generation_fields(), sampling_fields(),
                                                  structured_output_fields(), endpoint.fields,
                                                  endpoint.tool_fields};
  if (Status s = read_fields(*body, tables, params); !s.ok()) return s;
  if (Status s = check_model(params.model, *model); !s.ok()) return s;
  const auto prompts = endpoint.encode(params, *model);
  if (!prompts.ok()) return prompts.status();
  auto plan = plan_generation(params, prompts.value(), *model);
  if (!plan.ok()) return plan.status();
  Generation generation(
      model, std::move(*plan),
      std::make_unique<OpenAiFormat>(endpoint.shape,
                                     OpenAiOptions{.model = model->id,
                                                   .include_usage = params.include_usage,
                                                   .logprobs = params.logprobs.has_value()}));
  generation.engine = model->engine;
  generation.headers = report_unknown(params.unknown);
  return generation;
}

}  // namespace

ApiResult generate(const ApiCall& call, const GenerateEndpoint& endpoint) {
  auto generation = make_generation(call, endpoint);
  if (!generation.ok()) return error_reply(generation.status());
  return std::move(*generation);
}

}  // namespace mlxforge
