// Lines from standard input: with editing and history on a terminal (libedit), plainly elsewhere.
#pragma once

#include <optional>
#include <string>

namespace mlxforge {

class LineReader {
 public:
  explicit LineReader(std::string prompt);
  bool interactive() const { return interactive_; }
  std::optional<std::string> next();  // nothing at the end of input

 private:
  std::string prompt_;
  bool interactive_;
};

}  // namespace mlxforge
