#include "server/error.h"

namespace mlxforge {
namespace {

struct Kind {
  Code code;
  int http;
  const char* type;
  const char* name;         // `code` in the body; null: none
  const char* retry_after;  // seconds; null: no use in retrying
};

constexpr Kind kKinds[] = {
    {Code::invalid_request, 400, "invalid_request_error", nullptr, nullptr},
    {Code::context_exceeded, 400, "invalid_request_error", "context_length_exceeded", nullptr},
    {Code::unauthorized, 401, "invalid_request_error", "invalid_api_key", nullptr},
    {Code::forbidden, 403, "invalid_request_error", "forbidden", nullptr},
    {Code::not_found, 404, "invalid_request_error", "not_found", nullptr},
    {Code::too_large, 413, "invalid_request_error", "request_too_large", nullptr},
    {Code::queue_full, 429, "rate_limit_error", "queue_full", "1"},
    {Code::rate_limited, 429, "rate_limit_error", "rate_limit_exceeded", nullptr},
    {Code::unavailable, 503, "server_error", "unavailable", "1"},
    {Code::internal, 500, "server_error", "internal_error", nullptr},
};

const Kind& kind(const Status& status) {
  for (const Kind& k : kKinds)
    if (k.code == status.code) return k;
  return kKinds[std::size(kKinds) - 1];
}

OrderedJson body(const std::string& message, const char* type, const std::string& param,
                 const char* code) {
  OrderedJson error = {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}};
  if (!param.empty()) error["param"] = param;
  if (code) error["code"] = code;
  return {{"error", std::move(error)}};
}

}  // namespace

OrderedJson error_json(const Status& status) {
  const Kind& k = kind(status);
  const bool unknown_model = status.code == Code::not_found && status.param == "model";
  return body(status.message, k.type, status.param, unknown_model ? "model_not_found" : k.name);
}

HttpReply error_reply(const Status& status) {
  const Kind& k = kind(status);
  HttpReply reply{.status = k.http, .body = to_text(error_json(status))};
  if (k.retry_after) reply.headers.emplace_back("Retry-After", k.retry_after);
  return reply;
}

HttpReply plain_error(int http_status, const std::string& message, const char* code) {
  const char* type = http_status < 500 ? "invalid_request_error" : "server_error";
  return {.status = http_status, .body = to_text(body(message, type, "", code))};
}

}  // namespace mlxforge
