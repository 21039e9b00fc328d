// The smallest bodies that the endpoints accept, and further fields such as "\"seed\":1" beside.
#pragma once

#include <string>

namespace mlxforge {

inline constexpr char kChat[] = "/v1/chat/completions";
inline constexpr char kText[] = "/v1/completions";
inline constexpr char kStream[] = R"("stream":true)";

inline std::string chat_body(const std::string& fields = "") {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (fields.empty() ? "" : "," + fields) +
         "}";
}

inline std::string text_body(const std::string& fields = "") {
  return R"({"prompt":"hi")" + (fields.empty() ? "" : "," + fields) + "}";
}

}  // namespace mlxforge
