#include "app/line_reader.h"

#include <editline/readline.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>

namespace mlxforge {

LineReader::LineReader(std::string prompt)
    : prompt_(std::move(prompt)),
      interactive_(isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {}

std::optional<std::string> LineReader::next() {
  if (!interactive_) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  const std::unique_ptr<char, void (*)(void*)> line(readline(prompt_.c_str()), std::free);
  if (line == nullptr) return std::nullopt;
  if (*line != '\0') add_history(line.get());
  return std::string(line.get());
}

}  // namespace mlxforge
