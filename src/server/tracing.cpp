#include "server/tracing.h"

#include <cstdlib>

#include "base/log.h"

namespace mlxforge {
namespace {

constexpr uint64_t kFlushMs = 3000;

// As with OTEL_EXPORTER_OTLP_ENDPOINT, the path of the signal is not part of the endpoint.
std::string traces_url(std::string endpoint) {
  if (endpoint.empty()) return endpoint;
  if (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint + "/v1/traces";
}

// As OpenTelemetry has it, an empty variable is not set.
bool in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

}  // namespace

Tracing::Tracing(const std::string& endpoint)
    : traces_(checked("server", "--otlp-endpoint",
                      [&] { return rs::start_traces(traces_url(endpoint)); })) {}

Tracing::~Tracing() {
  try {
    traces_->shut_down(kFlushMs);
  } catch (const rust::Error& error) {
    log_warn("[server] traces: some were not sent: ", error.what());
  }
  tell_news();
}

void Tracing::record(const rs::RequestSpan& span) const {
  try {
    traces_->record(span);
  } catch (const rust::Error& error) {
    log_warn("[server] traces: ", error.what());
  }
  tell_news();
}

void Tracing::tell_news() const {
  const rust::String news = traces_->news();
  if (!news.empty()) log_warn("[server] traces: ", std::string(news));
}

std::unique_ptr<const Tracing> start_tracing(const std::string& endpoint) {
  const bool wanted = !endpoint.empty() || in_environment("OTEL_EXPORTER_OTLP_ENDPOINT") ||
                      in_environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (!wanted) return nullptr;
  return std::make_unique<const Tracing>(endpoint);
}

}  // namespace mlxforge
