#include "server/request_span.h"

#include <algorithm>

#include "server/api/api.h"

namespace mlxforge {
namespace {

constexpr std::string_view kMethods[] = {"GET",    "HEAD",    "POST",    "PUT",  "PATCH",
                                         "DELETE", "OPTIONS", "CONNECT", "TRACE"};

// rust::String refuses what is not UTF-8.
rust::String text_of(std::string_view text) {
  return rust::String::lossy(text.data(), text.size());
}

class Attributes {
 public:
  explicit Attributes(rs::RequestSpan& span) : out_(span.attributes) {}

  void text(const char* name, std::string_view value) {
    out_.push_back({name, rs::AttributeKind::Text, text_of(value), 0});
  }
  void list(const char* name, std::string_view value) {
    out_.push_back({name, rs::AttributeKind::List, text_of(value), 0});
  }
  void integer(const char* name, int value) {
    out_.push_back({name, rs::AttributeKind::Integer, {}, static_cast<double>(value)});
  }
  void real(const char* name, double value) {
    out_.push_back({name, rs::AttributeKind::Real, {}, value});
  }

 private:
  rust::Vec<rs::SpanAttribute>& out_;
};

// The path as the list of endpoints has it; empty for one that is not there.
std::string_view route_of(const HttpRequest& request) {
  const Endpoint* endpoint = endpoint_of(request);
  return endpoint ? endpoint->path : std::string_view();
}

void add_http(Attributes& out, const RequestFacts& facts, std::string_view method,
              std::string_view route) {
  const std::string& target = facts.request.target;
  out.text("http.request.method", method);
  out.text("url.path", std::string_view(target).substr(0, target.find('?')));
  if (!route.empty()) out.text("http.route", route);
  out.integer("http.response.status_code", facts.status);
  if (facts.status >= 500) out.text("error.type", std::to_string(facts.status));
  if (const auto agent = facts.request.header("user-agent"); !agent.empty())
    out.text("user_agent.original", agent);
  out.text("mlxforge.request_id", facts.id);
  if (!facts.key.empty()) out.text("mlxforge.key", facts.key);
}

void add_generation(Attributes& out, const Generation& generation, std::string_view route) {
  const Usage usage = generation.usage();
  out.text("gen_ai.provider.name", "mlxforge");
  out.text("gen_ai.operation.name", route == "/v1/completions" ? "text_completion" : "chat");
  out.text("gen_ai.request.model", generation.model().id);
  out.text("gen_ai.response.model", generation.model().id);
  out.list("gen_ai.response.finish_reasons", generation.finish());
  out.integer("gen_ai.usage.input_tokens", usage.prompt_tokens);
  out.integer("gen_ai.usage.output_tokens", usage.completion_tokens);
  const Timings& timings = generation.timings();
  if (timings.ttft_ms == 0) return;  // known at the end of the answer only
  out.real("gen_ai.latency.time_in_queue", timings.queue_ms / 1000);
  out.real("gen_ai.latency.time_to_first_token", timings.ttft_ms / 1000);
}

}  // namespace

rs::RequestSpan request_span(const RequestFacts& facts) {
  const std::string_view route = route_of(facts.request);
  const bool known = std::ranges::find(kMethods, facts.request.method) != std::end(kMethods);
  std::string name = known ? facts.request.method : "HTTP";
  if (!route.empty()) name += str(" ", route);
  rs::RequestSpan span{.name = text_of(name),
                       .traceparent = text_of(facts.request.header("traceparent")),
                       .tracestate = text_of(facts.request.header("tracestate")),
                       .ms = facts.ms,
                       .failed = facts.status >= 500,
                       .attributes = {}};
  Attributes attributes(span);
  add_http(attributes, facts, known ? facts.request.method : "_OTHER", route);
  if (facts.generation) add_generation(attributes, *facts.generation, route);
  return span;
}

}  // namespace mlxforge
