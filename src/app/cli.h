// The command line: which command, its options from flags, environment and config file, its
// arguments.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/commands.h"

namespace mlxforge {

struct Invocation {
  const Command* command = nullptr;
  Options options;
  std::vector<std::string> arguments;  // MODEL left out: it is in options
};

// Text for standard output instead of a command: --help, --version.
struct Message {
  std::string text;
};

// `words` is argv. Without a command, "mlxforge" means serve and "mlxforge-cli" generate. The first
// argument is MODEL, unless --model was given or the command needs all of them. Reads the
// environment and the config file. Throws UsageError.
std::variant<Invocation, Message> parse_command_line(const std::vector<std::string>& words);

}  // namespace mlxforge
