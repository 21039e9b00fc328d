// The commands of the program: one file each, listed once in commands.cpp. A command returns the
// process's exit status and throws Error when it cannot do its work. It owns the process: it runs
// on the main thread and nothing runs beside it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/options.h"

namespace mlxforge {

using Arguments = std::span<const std::string>;  // what stands on the command line after MODEL

struct Command {
  std::string_view name;
  std::string_view arguments;  // as help shows them
  std::string_view about;
  size_t required = 0;  // arguments after MODEL
  size_t optional = 0;
  int (*run)(const Options& options, Arguments arguments) = nullptr;
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);  // null when there is none

int run_serve(const Options& options, Arguments arguments);
int run_generate(const Options& options, Arguments arguments);
int run_chat(const Options& options, Arguments arguments);
int run_bench(const Options& options, Arguments arguments);
int run_inspect(const Options& options, Arguments arguments);
int run_dump_weights(const Options& options, Arguments arguments);
int run_logits(const Options& options, Arguments arguments);
int run_perplexity(const Options& options, Arguments arguments);

}  // namespace mlxforge
