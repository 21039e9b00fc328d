#include "server/api/generate.h"

#include "server/api/read_params.h"
#include "server/error.h"
#include "server/ignored_fields.h"

namespace mlxforge {
namespace {

Result<Generation> make_generation(const ApiCall& call, const GenerateEndpoint& endpoint) {
  const auto& model = call.server.model;
  auto parsed = parse_request(call, endpoint);
  if (!parsed.ok()) return parsed.status();
  auto plan = plan_generation(parsed->params, parsed->prompts, *model);
  if (!plan.ok()) return about_input(plan.status(), endpoint.input);
  Generation generation(model, std::move(*plan),
                        endpoint.format(parsed->params, parsed->prompts, call.server));
  generation.engine = model->engine;
  generation.input = endpoint.input;
  generation.headers = report_ignored(parsed->params.unknown);
  return generation;
}

}  // namespace

Result<ParsedRequest> parse_request(const ApiCall& call, const GenerateEndpoint& endpoint) {
  auto params = read_params(call, endpoint.fields, default_params(*call.server.model));
  if (!params.ok()) return params.status();
  auto prompts = endpoint.encode(*params, call);
  if (!prompts.ok()) return about_input(prompts.status(), endpoint.input);
  return ParsedRequest{std::move(*params), std::move(*prompts)};
}

ApiResult generate(const ApiCall& call, const GenerateEndpoint& endpoint) {
  auto generation = make_generation(call, endpoint);
  if (!generation.ok()) return error_reply(generation.status());
  return std::move(*generation);
}

}  // namespace mlxforge
