// UTF-8 from bytes that may be cut anywhere or be none: each maximal run of bytes that cannot
// become a character is one U+FFFD, as in Python's errors="replace" (Unicode 16, section 3.9, table
// 3-7).
#pragma once

#include <string>
#include <string_view>

namespace mlxforge {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Appends to `out` what `pending` followed by `bytes` decides; `pending` keeps an unfinished
// character that is valid so far (at most 3 bytes).
void decode_utf8(std::string& pending, std::string_view bytes, std::string& out);

// `text` with everything that is not UTF-8 replaced.
std::string valid_utf8(std::string_view text);

}  // namespace mlxforge
