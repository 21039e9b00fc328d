// Names out of untrusted files, made fit for a message: in quotes, long ones cut, bytes outside
// printable ASCII as \xNN.
#pragma once

#include <string>
#include <string_view>

namespace mlxforge {

inline std::string quoted(std::string_view name) {
  constexpr size_t kMax = 120;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const unsigned char c : name.substr(0, kMax)) {
    if (c >= 0x20 && c < 0x7f)
      out += static_cast<char>(c);
    else
      (out += "\\x") += {kHex[c >> 4], kHex[c & 15]};
  }
  return out + (name.size() > kMax ? "...\"" : "\"");
}

}  // namespace mlxforge
