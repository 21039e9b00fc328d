// Server-sent events.
#pragma once

#include <string>
#include <string_view>

namespace mlxforge {

// `data` holds no newline: compact JSON or [DONE].
inline std::string sse_event(std::string_view data) {
  std::string out = "data: ";
  return out.append(data).append("\n\n");
}

// With a name, as newer APIs send them.
inline std::string sse_event(std::string_view name, std::string_view data) {
  return std::string("event: ").append(name).append("\n") + sse_event(data);
}

}  // namespace mlxforge
