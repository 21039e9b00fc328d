// What each request leaves behind when it ends in whatever way: a line in the log, a count, a span.
#pragma once

#include "base/clock.h"
#include "server/access.h"
#include "server/generation.h"
#include "server/http/message.h"
#include "server/metrics/metrics.h"
#include "server/tracing.h"

namespace mlxforge {

class AccessLog {
 public:
  // `tracing`: null for none.
  AccessLog(const HttpRequest& request, std::string id, Metrics& metrics, const Tracing* tracing)
      : request_(request), id_(std::move(id)), metrics_(metrics), tracing_(tracing) {}
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  const HttpRequest& request() const { return request_; }
  void caller(const Caller& caller) { key_ = caller.key; }
  void status(int status) { status_ = status; }
  void generation(const Generation* generation) { generation_ = generation; }

 private:
  void write_line(double ms) const;

  const HttpRequest& request_;
  const std::string id_;
  Metrics& metrics_;
  const Tracing* tracing_;
  const Generation* generation_ = nullptr;
  std::string key_;
  int status_ = 499;  // the client left before an answer
  const TimePoint start_ = Clock::now();
};

}  // namespace mlxforge
