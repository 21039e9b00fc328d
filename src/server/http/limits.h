// What one client may take from the server.
#pragma once

#include <chrono>
#include <cstddef>

namespace mlxforge {

struct HttpLimits {
  size_t header_bytes = 16 << 10;     // more: 431
  size_t body_bytes = 4 << 20;        // more: 413
  size_t pipelined_bytes = 64 << 10;  // read ahead while a response is pending
  size_t pending_tokens = 16384;  // generated but not yet taken by a slow reader; more: cancelled
  int connections = 4096;         // more: 503 and closed
  std::chrono::milliseconds idle{75'000};   // between requests
  std::chrono::milliseconds read{60'000};   // first byte to last byte of a request; more: 408
  std::chrono::milliseconds write{60'000};  // one write to a reader that takes nothing
};

}  // namespace mlxforge
