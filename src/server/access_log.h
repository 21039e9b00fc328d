// The line that each request leaves in the log, written when it ends in whatever way.
#pragma once

#include "base/clock.h"
#include "server/access.h"
#include "server/generation.h"
#include "server/http/message.h"

namespace mlxforge {

class AccessLog {
 public:
  explicit AccessLog(const HttpRequest& request) : request_(request) {}
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void caller(const Caller& caller) { key_ = caller.key; }
  void status(int status) { status_ = status; }
  void generation(const Generation* generation) { generation_ = generation; }

 private:
  const HttpRequest& request_;
  const Generation* generation_ = nullptr;
  std::string key_;
  int status_ = 499;  // the client left before an answer
  const TimePoint start_ = Clock::now();
};

}  // namespace mlxforge
