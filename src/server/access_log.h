// The line that each request leaves in the log, written (and counted) when it ends in whatever way.
#pragma once

#include "base/clock.h"
#include "server/access.h"
#include "server/generation.h"
#include "server/http/message.h"
#include "server/metrics/metrics.h"

namespace mlxforge {

class AccessLog {
 public:
  AccessLog(const HttpRequest& request, std::string id, Metrics& metrics)
      : request_(request), id_(std::move(id)), metrics_(metrics) {}
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  const HttpRequest& request() const { return request_; }
  void caller(const Caller& caller) { key_ = caller.key; }
  void status(int status) { status_ = status; }
  void generation(const Generation* generation) { generation_ = generation; }

 private:
  const HttpRequest& request_;
  const std::string id_;
  Metrics& metrics_;
  const Generation* generation_ = nullptr;
  std::string key_;
  int status_ = 499;  // the client left before an answer
  const TimePoint start_ = Clock::now();
};

}  // namespace mlxforge
