// Server-sent events as OpenAI frames them.
#pragma once

#include <string>
#include <string_view>

namespace mlxforge {

// `data` holds no newline: compact JSON or [DONE].
inline std::string sse_event(std::string_view data) {
  std::string out = "data: ";
  return out.append(data).append("\n\n");
}

}  // namespace mlxforge
