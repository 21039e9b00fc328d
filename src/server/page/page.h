// The chat page, in one piece. embed.py makes it of the files in this folder when they are built.
#pragma once

#include <string_view>

namespace mlxforge {

extern const std::string_view kPage;
// Its Content-Security-Policy: the hashes of its own style and script, and nothing else.
extern const std::string_view kPagePolicy;

}  // namespace mlxforge
