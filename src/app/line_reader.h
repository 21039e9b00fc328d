// Lines from standard input: with editing, history and bracketed paste on a terminal (libedit),
// plainly elsewhere. A pasted text of several lines is part of the line that is being edited.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace mlxforge {

class LineReader {
 public:
  explicit LineReader(std::string prompt);
  ~LineReader();

  bool interactive() const { return editor_ != nullptr; }
  std::optional<std::string> next();  // without its end of line; nothing at the end of input

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;  // null: not a terminal
};

// What is typed meanwhile is not shown; it stays for the next line. Does nothing without a
// terminal.
class TypingHidden {
 public:
  TypingHidden();
  ~TypingHidden();
  TypingHidden(const TypingHidden&) = delete;
  TypingHidden& operator=(const TypingHidden&) = delete;

 private:
  struct Terminal;
  std::unique_ptr<Terminal> before_;  // null: nothing to restore
};

}  // namespace mlxforge
