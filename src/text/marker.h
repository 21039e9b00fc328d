// A character that a text does not contain, put before some of its characters to follow them
// through a chat template. Spaces are never marked: a template may strip them at a marked text's
// ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlxforge {

class Marker {
 public:
  // A private-use character that none of `texts` contains; nothing when they contain all of them.
  static std::optional<Marker> absent_from(const std::vector<std::string>& texts);

  const std::string& text() const { return text_; }

  // `text` with the marker before each of its characters that is not a space.
  std::string mark(std::string_view text) const;

  // If `rendered` is `plain` but for its markers: for each byte of `plain`, is its character
  // marked?
  std::optional<std::vector<bool>> marked_bytes(std::string_view rendered,
                                                std::string_view plain) const;

 private:
  explicit Marker(std::string text) : text_(std::move(text)) {}
  std::string text_;  // in UTF-8
};

bool is_space(char c);

}  // namespace mlxforge
