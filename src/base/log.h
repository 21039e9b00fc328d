// Log lines go through one sink, stderr until the app installs another. Any thread may call.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/str.h"

namespace mlxforge {

enum class LogLevel { debug, info, warn, error };

// pretty: lines for people. json: each line an object with time, level, and message or fields.
enum class LogFormat { pretty, json };

// One fact of a line that programs may want to read.
struct LogField {
  std::string_view name;
  std::string value;
  bool is_number = false;
  bool show_name = true;  // a pretty line then has name=value, else the value alone
};

using LogSink = std::function<void(LogLevel, std::string_view line)>;
void set_log_sink(LogSink sink);        // before any other thread starts
void set_log_format(LogFormat format);  // before any other thread starts
void log_line(LogLevel level, std::string_view line);
void log_fields(LogLevel level, std::span<const LogField> fields);

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
