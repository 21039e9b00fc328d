#include "server/api/generate.h"

#include "base/log.h"
#include "server/error.h"

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

Result<Generation> make_generation(const ApiCall& call, const GenerateEndpoint& endpoint) {
  const auto& model = call.server.model;
  auto parsed = parse_request(call, endpoint);
  if (!parsed.ok()) return parsed.status();
  auto plan = plan_generation(parsed->params, parsed->prompts, *model);
  if (!plan.ok()) return plan.status();
  Generation generation(model, std::move(*plan),
                        endpoint.format(parsed->params, parsed->prompts, call.server));
  generation.engine = model->engine;
  generation.headers = report_unknown(parsed->params.unknown);
  return generation;
}

}  // namespace

HttpHeaders report_unknown(const std::vector<std::string>& unknown) {
  if (unknown.empty()) return {};
  const std::string names = list_names(unknown);
  log_info("[server] request fields that nobody knows were ignored: ", names);
  return {{kIgnoredFields, names}};
}

Result<ParsedRequest> parse_request(const ApiCall& call, const GenerateEndpoint& endpoint) {
  auto body = parse_body(call.body);
  if (!body.ok()) return body.status();
  const ModelContext& model = *call.server.model;
  GenerationParams params = default_params(model);
  if (Status s = read_fields(*body, endpoint.fields, params); !s.ok()) return s;
  if (Status s = check_model(params.model, model); !s.ok()) return s;
  auto prompts = endpoint.encode(params, call);
  if (!prompts.ok()) return prompts.status();
  return ParsedRequest{std::move(params), std::move(*prompts)};
}

ApiResult generate(const ApiCall& call, const GenerateEndpoint& endpoint) {
  auto generation = make_generation(call, endpoint);
  if (!generation.ok()) return error_reply(generation.status());
  return std::move(*generation);
}

}  // namespace mlxforge
