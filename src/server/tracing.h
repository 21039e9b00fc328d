// Spans of requests for an OpenTelemetry collector: OTLP, protobuf over plain HTTP. A thread of its
// own sends them, so a collector that is slow or gone delays nobody; the log says once that it is.
#pragma once

#include <memory>
#include <string>

#include "rust/bridge.h"

namespace mlxforge {

class Tracing {
 public:
  // An empty endpoint: what the environment says (OTEL_EXPORTER_OTLP_ENDPOINT).
  explicit Tracing(const std::string& endpoint);  // throws Error
  ~Tracing();                                     // sends what is left, for seconds at most
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  void record(const rs::RequestSpan& span) const;  // any thread; never waits, never throws

 private:
  void tell_news() const;

  rust::Box<rs::Traces> traces_;
};

// Null when neither `endpoint` nor the environment names a collector.
std::unique_ptr<const Tracing> start_tracing(const std::string& endpoint);

}  // namespace mlxforge
