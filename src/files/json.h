// JSON from untrusted text. Beyond nlohmann's own checks: nesting is capped, because a deep
// document overflows the stack of whoever walks it later, and a key that appears twice in one
// object is refused, because readers disagree on which one counts.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace mlxforge {

using Json = nlohmann::json;

inline constexpr int kMaxJsonDepth = 64;

// `name` is what errors call the text. Throws Error with the line and column of a syntax error.
Json parse_json(std::string_view text, std::string_view name, int max_depth = kMaxJsonDepth);

Json parse_json_file(const std::filesystem::path& path);

}  // namespace mlxforge
