#include "base/log.h"
#include "server/api/anthropic_error.h"
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/error.h"
#include "server/ignored_fields.h"
#include "server/router.h"

namespace mlxforge {
namespace {

constexpr Endpoint kEndpoints[] = {
    // Public: the page, which asks for the key itself, and what a load balancer asks.
    {"GET", "/", chat_page, /*needs_model=*/false, /*is_public=*/true},
    {"GET", "/health", health, /*needs_model=*/false, /*is_public=*/true},
    {"GET", "/metrics", metrics, /*needs_model=*/false},
    {"GET", "/openapi.json", openapi, /*needs_model=*/false, /*is_public=*/false,
     /*takes_time=*/true},
    {"GET", "/v1/models", models},
    {"GET", "/v1/models/{model}", model},
    {"POST", "/v1/chat/completions", chat_completions},
    {"POST", "/v1/completions", completions},
    {"POST", "/v1/messages", messages},
    {"POST", "/v1/messages/count_tokens", count_tokens},
    {"POST", "/v1/responses", responses},
    {"GET", "/v1/responses/{id}", get_response},
    {"DELETE", "/v1/responses/{id}", delete_response},
    {"GET", "/v1/responses/{id}/input_items", input_items, /*needs_model=*/true,
     /*is_public=*/false,
     /*takes_time=*/true},
    {"POST", "/v1/embeddings", embeddings},
    {"POST", "/v1/rerank", rerank},
    {"POST", "/tokenize", tokenize},
    {"POST", "/detokenize", detokenize},
};

// --strict: what a handler would only report becomes an error.
ApiResult refuse_ignored_fields(ApiResult result) {
  const auto headers_of = [](const auto& answer) -> const HttpHeaders& { return answer.headers; };
  for (const auto& [name, value] : std::visit(headers_of, result))
    if (name == kIgnoredFields)
      return error_reply(Status::invalid("this server knows no such field: " + value,
                                         value.substr(0, value.find(','))));
  return result;
}

ApiResult run(const Endpoint& endpoint, const ApiCall& call) try {
  ApiResult result = endpoint.handle(call);
  return call.server.strict ? refuse_ignored_fields(std::move(result)) : std::move(result);
} catch (const std::exception& e) {
  log_error("[server] ", endpoint.path, ": ", e.what());
  return error_reply({Code::internal, "the server failed at this request; its log says why", ""});
}

}  // namespace

std::span<const Endpoint> endpoints() { return kEndpoints; }

const Endpoint* endpoint_of(const HttpRequest& request) {
  const auto found = route(endpoints(), request.method, request.target);
  const auto* it = std::get_if<Route>(&found);
  return it ? it->endpoint : nullptr;
}

HttpReply told_as_expected(const HttpRequest& request, HttpReply reply) {
  const bool anthropic = request.target.starts_with("/v1/messages");
  return anthropic && reply.status >= 400 ? anthropic_error(std::move(reply)) : reply;
}

ApiResult dispatch(const HttpRequest& request, const ServerState::View& server,
                   const CancelFlag& cancel) {
  const auto found = route(endpoints(), request.method, request.target);
  if (const auto* refusal = std::get_if<HttpReply>(&found)) return *refusal;
  const Endpoint& endpoint = *std::get<Route>(found).endpoint;
  if (endpoint.needs_model)
    if (const Status status = availability(server); !status.ok()) return error_reply(status);
  return run(endpoint, {.body = request.body,
                        .argument = std::get<Route>(found).argument,
                        .query = std::get<Route>(found).query,
                        .server = server,
                        .cancel = cancel});
}

}  // namespace mlxforge
