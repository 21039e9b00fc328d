#include "base/log.h"

#include <iostream>
#include <mutex>

#include "base/option_values.h"

namespace mlxforge {
namespace {

std::mutex mutex;

void to_stderr(LogLevel level, std::string_view line) {
  std::cerr << show_value(level) << ": " << line << std::endl;
}

LogSink& sink() {
  static LogSink sink = to_stderr;
  return sink;
}

}  // namespace

void set_log_sink(LogSink next) { sink() = std::move(next); }

void log_line(LogLevel level, std::string_view line) {
  std::lock_guard lock(mutex);
  sink()(level, line);
}

}  // namespace mlxforge
