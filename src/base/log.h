// Log lines go through one sink, stderr until the app installs another. Any thread may call.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/str.h"

namespace mlxforge {

enum class LogLevel { debug, info, warn, error };

using LogSink = std::function<void(LogLevel, std::string_view line)>;
void set_log_sink(LogSink sink);  // before any other thread starts
void log_line(LogLevel level, std::string_view line);

template <class... Parts>
void log_info(const Parts&... parts) {
  log_line(LogLevel::info, str(parts...));
}
template <class... Parts>
void log_warn(const Parts&... parts) {
  log_line(LogLevel::warn, str(parts...));
}
template <class... Parts>
void log_error(const Parts&... parts) {
  log_line(LogLevel::error, str(parts...));
}

}  // namespace mlxforge
