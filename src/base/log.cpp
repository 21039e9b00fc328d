#include "base/log.h"

#include <iostream>
#include <mutex>

namespace mlxforge {
namespace {

std::mutex mutex;

void to_stderr(LogLevel level, std::string_view line) {
  static constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
  std::cerr << kNames[static_cast<int>(level)] << ": " << line << std::endl;
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
