// Standard error as people see it: log lines, errors and the progress of long work. Results go to
// standard output, by print().
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace mlxforge {

// Installs the log sink; before any other thread starts.
void log_to_stderr(LogLevel least, LogFormat format = LogFormat::pretty);

int report_error(std::string_view message, int exit_status);  // "error: ..."; returns exit_status

// Writes all of text to standard output and flushes. Throws Error when it cannot (a full disk, a
// closed pipe); else returns 0.
int print(std::string_view text);

// A bar on a terminal; elsewhere a line at each quarter, once the work has taken a second. Any
// thread may call update, one at a time.
class Progress {
 public:
  explicit Progress(std::string what);  // "Loading SmolLM2"
  ~Progress();                          // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double fraction);  // of the work, 0 to 1

 private:
  std::string what_;
  bool terminal_;
  int shown_ = -1;  // percent on a terminal, quarters elsewhere
  const TimePoint start_ = Clock::now();
};

}  // namespace mlxforge
