#include "text/marker.h"

#include <bitset>

namespace mlxforge {
namespace {

// U+F0000 .. U+FFFFD, in UTF-8 F3 B0 80 80 .. F3 BF BF BD.
constexpr size_t kPrivate = 0xFFFE;

bool is_continuation(char c) { return (c & 0xC0) == 0x80; }

std::string private_character(size_t n) {
  return {char(0xF3), char(0xB0 | n >> 12), char(0x80 | (n >> 6 & 0x3F)), char(0x80 | (n & 0x3F))};
}

void note_private_characters(std::string_view text, std::bitset<kPrivate>& used) {
  for (size_t at = text.find('\xF3'); at != text.npos; at = text.find('\xF3', at + 1)) {
    const std::string_view c = text.substr(at, 4);
    if (c.size() < 4 || (c[1] & 0xF0) != 0xB0) continue;
    const size_t n = (c[1] & 0xF) << 12 | (c[2] & 0x3F) << 6 | (c[3] & 0x3F);
    if (n < kPrivate) used.set(n);
  }
}

}  // namespace

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::optional<Marker> Marker::absent_from(const std::vector<std::string>& texts) {
  std::bitset<kPrivate> used;
  for (const std::string& text : texts) note_private_characters(text, used);
  for (size_t n = 0; n < kPrivate; ++n) {
    if (!used[n]) return Marker(private_character(n));
  }
  return std::nullopt;
}

std::string Marker::mark(std::string_view text) const {
  std::string out;
  for (const char c : text) {
    if (!is_space(c) && !is_continuation(c)) out += text_;
    out += c;
  }
  return out;
}

std::optional<std::vector<bool>> Marker::marked_bytes(std::string_view rendered,
                                                      std::string_view plain) const {
  std::vector<bool> marked(plain.size());
  for (size_t at = 0; at < plain.size();) {
    const bool here = rendered.starts_with(text_);
    if (here) rendered.remove_prefix(text_.size());
    do {
      if (rendered.empty() || rendered[0] != plain[at]) return std::nullopt;
      marked[at] = here;
      rendered.remove_prefix(1);
    } while (++at < plain.size() && is_continuation(plain[at]));
  }
  if (!rendered.empty()) return std::nullopt;
  return marked;
}

}  // namespace mlxforge
