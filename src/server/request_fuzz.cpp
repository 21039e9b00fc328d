// fuzz_request: any body gets either a 4xx whose own body is valid JSON in UTF-8, or a request that
// the engine may run. The first byte picks the endpoint.
#include "base/check.h"
#include "base/log.h"
#include "server/api/api.h"
#include "server/json.h"
#include "server/testing/test_model.h"

namespace mlxforge {
namespace {

void check_request(const Request& request, const ModelContext& model) {
  check(!request.prompt.empty() && request.max_tokens >= 0 && request.n >= 1 &&
            (request.max_tokens > 0 || request.n == 1) && request.min_tokens <= request.max_tokens,
        "limits");
  check(request.logprobs <= 20 && request.prompt_logprobs <= 20, "logprobs");
  for (const auto& ids : {request.prompt, request.stop_ids})
    for (const int32_t id : ids)
      check(id >= 0 && id < model.vocab_size, "a token id outside the vocabulary");
  const SamplingParams& s = request.sampling;
  check(s.temperature >= 0 && s.temperature <= std::numeric_limits<float>::max(), "temperature");
  check(s.top_p >= 0 && s.top_p <= 1 && s.min_p >= 0 && s.min_p <= 1 && s.top_k >= 0, "sampling");
  check(s.penalties.repetition > 0 && s.dry.base >= 1 && s.dry.allowed_length > 0, "penalties");
  for (const auto& [id, bias] : s.logit_bias)
    check(id >= 0 && id < model.vocab_size && std::abs(bias) <= 100, "logit_bias");
}

void check_reply(const HttpReply& reply) {
  if (reply.status == 200) return;  // /tokenize and /detokenize
  check(reply.status / 100 == 4, "status ", reply.status);
  check(OrderedJson::parse(reply.body).at("error").size() == 4, "the error's shape");
}

void fuzz_one(std::string_view input) {
  static const auto model = [] {
    set_log_sink([](LogLevel, std::string_view) {});
    return test_model(nullptr);
  }();
  ServerState::View view;
  view.phase = Phase::ok;
  view.model = model;
  static constexpr const char* kTargets[] = {"/v1/completions", "/v1/chat/completions",
                                             "/tokenize",       "/detokenize",
                                             "/v1/embeddings",  "/v1/rerank"};
  const char* target = kTargets[static_cast<unsigned char>(input[0]) % std::size(kTargets)];
  ApiResult result =
      dispatch({.method = "POST", .target = target, .body = std::string(input.substr(1))}, view);
  if (const auto* generation = std::get_if<Generation>(&result))
    for (const Request& request : generation->requests) check_request(request, *model);
  else if (auto* embedding = std::get_if<Embedding>(&result))
    for (const Request& request : embedding->next()) check_request(request, *model);
  else
    check_reply(std::get<HttpReply>(result));
}

}  // namespace
}  // namespace mlxforge

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) mlxforge::fuzz_one({reinterpret_cast<const char*>(data), size});
  return 0;
}
