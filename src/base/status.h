// Status and Result: how a *request* fails. A request's failure is a value that travels back to its
// client; it is never thrown. (A bad file or configuration throws Error, a bug throws CheckFailure:
// see check.h.)
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace mlxforge {

enum class Code {
  ok,
  invalid_request,   // 400
  context_exceeded,  // 400, code context_length_exceeded
  unauthorized,      // 401
  forbidden,         // 403
  not_found,         // 404
  too_large,         // 413
  queue_full,        // 429
  rate_limited,      // 429
  internal,          // 500
  unavailable,       // 503: loading, draining or failed
};

struct Status {
  Code code = Code::ok;
  std::string message;
  std::string param;  // the request field at fault; may be empty

  bool ok() const { return code == Code::ok; }
  static Status invalid(std::string message, std::string param = "") {
    return {Code::invalid_request, std::move(message), std::move(param)};
  }
};

// A value or the Status that explains its absence.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) {
    check(!std::get<Status>(state_).ok(), "a Result without a value needs a failure");
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  const Status& status() const { return std::get<Status>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace mlxforge
