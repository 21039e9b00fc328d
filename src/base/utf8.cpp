#include "base/utf8.h"

#include <algorithm>

namespace mlxforge {
namespace {

struct Lead {
  size_t length;            // bytes of the character; 0: no character starts so
  unsigned char low, high;  // range of the second byte
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // up to U+10FFFF
  return {0, 0, 0};
}

// How many of the first bytes of `text` fit the character that its first byte begins.
size_t fitting(std::string_view text, const Lead& lead) {
  size_t n = 1;
  for (; n < std::min(lead.length, text.size()); ++n) {
    const auto byte = static_cast<unsigned char>(text[n]);
    const bool fits = n == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!fits) break;
  }
  return n;
}

}  // namespace

void decode_utf8(std::string& pending, std::string_view bytes, std::string& out) {
  std::string joined;
  if (!pending.empty()) {
    joined = pending.append(bytes);
    bytes = joined;
    pending.clear();
  }
  while (!bytes.empty()) {
    const Lead lead = lead_of(static_cast<unsigned char>(bytes[0]));
    const size_t n = fitting(bytes, lead);
    if (n == lead.length) {
      out += bytes.substr(0, n);
    } else if (lead.length > 0 && n == bytes.size()) {
      pending = bytes;
    } else {
      out += kReplacement;
    }
    bytes.remove_prefix(n);
  }
}

std::string valid_utf8(std::string_view text) {
  std::string pending, out;
  out.reserve(text.size());
  decode_utf8(pending, text, out);
  if (!pending.empty()) out += kReplacement;
  return out;
}

}  // namespace mlxforge
