#include "server/access_log.h"

#include <algorithm>

#include "base/log.h"

namespace mlxforge {
namespace {

// The request line is the client's: no control character and no great length reaches the log.
std::string printable(std::string text) {
  text.resize(std::min<size_t>(text.size(), 100));
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

std::string summary(const Generation& generation) {
  const Usage& usage = generation.usage();
  return str(" prompt=", usage.prompt_tokens, " completion=", usage.completion_tokens,
             " finish=", generation.finish(), generation.note());
}

}  // namespace

AccessLog::~AccessLog() {
  log_info(printable(request_.method), " ", printable(request_.target), " ", status_,
           key_.empty() ? "" : " key=" + printable(key_), generation_ ? summary(*generation_) : "",
           " ms=", static_cast<int64_t>(ms_between(start_, Clock::now())));
}

}  // namespace mlxforge
