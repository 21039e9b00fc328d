#include "base/log.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <mutex>

#include "base/option_values.h"
#include "base/utf8.h"

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

LogFormat format = LogFormat::pretty;

void emit(LogLevel level, std::string_view line) {
  std::lock_guard lock(mutex);
  sink()(level, line);
}

std::string now() {
  using namespace std::chrono;
  const auto time = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto ms = duration_cast<milliseconds>(time.time_since_epoch()).count() % 1000;
  std::snprintf(text + n, sizeof text - n, ".%03dZ", static_cast<int>(ms));
  return text;
}

void quote(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    char code[8];
    if (static_cast<unsigned char>(c) < 0x20)
      out.append(code, static_cast<size_t>(std::snprintf(code, sizeof code, "\\u%04x", c)));
    else
      out += c;
  }
  out += '"';
}

std::string json_line(LogLevel level, std::span<const LogField> fields) {
  std::string out = str("{\"time\":\"", now(), "\",\"level\":\"", show_value(level), "\"");
  for (const LogField& field : fields) {
    out += ',';
    quote(out, field.name);
    out += ':';
    if (field.is_number)
      out += field.value;
    else
      quote(out, field.value);
  }
  return out + "}";
}

std::string pretty_line(std::span<const LogField> fields) {
  std::string out;
  for (const LogField& field : fields) {
    if (!out.empty()) out += ' ';
    if (field.show_name) out += str(field.name, "=");
    out += field.value;
  }
  return out;
}

}  // namespace

void set_log_sink(LogSink next) { sink() = std::move(next); }
void set_log_format(LogFormat next) { format = next; }

void log_line(LogLevel level, std::string_view line) {
  const LogField message{.name = "message", .value = std::string(line), .show_name = false};
  log_fields(level, {&message, 1});
}

void log_fields(LogLevel level, std::span<const LogField> fields) {
  emit(level, format == LogFormat::json ? json_line(level, fields) : pretty_line(fields));
}

}  // namespace mlxforge
