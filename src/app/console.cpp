#include "app/console.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/check.h"

namespace mlxforge {
namespace {

spdlog::level::level_enum spd_level(LogLevel level) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  return kLevels[static_cast<int>(level)];
}

std::atomic<bool> bar_on_screen = false;

void clear_bar() {
  if (bar_on_screen.exchange(false)) std::fputs("\r\033[K", stderr);
}

}  // namespace

void log_to_stderr(LogLevel least, LogFormat format) {
  set_log_format(format);
  auto logger = std::make_shared<spdlog::logger>(
      "mlxforge", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern(format == LogFormat::json ? "%v" : "%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spd_level(least));
  logger->flush_on(spdlog::level::debug);
  set_log_sink([logger](LogLevel level, std::string_view line) {
    if (logger->should_log(spd_level(level))) clear_bar();
    logger->log(spd_level(level), "{}", spdlog::string_view_t(line.data(), line.size()));
  });
}

int report_error(std::string_view message, int exit_status) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.size()), message.data());
  return exit_status;
}

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("app", "expected to write to standard output, got ", std::strerror(errno));
  return 0;
}

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear_bar(); }

void Progress::update(double fraction) {
  const int percent = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100);
  if (terminal_) {
    if (percent == shown_) return;
    shown_ = percent;
    const std::string bar(static_cast<size_t>(percent * 30 / 100), '#');
    clear_bar();
    std::fprintf(stderr, "%s [%-30s] %3d %%", what_.c_str(), bar.c_str(), percent);
    bar_on_screen = true;
  } else if (percent / 25 > shown_ && ms_between(start_, Clock::now()) > 1000) {
    shown_ = percent / 25;
    std::fprintf(stderr, "%s: %d %%\n", what_.c_str(), percent);
  }
}

}  // namespace mlxforge
