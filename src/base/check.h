// The two things that may be thrown. Error: a file or a configuration cannot be used; the text
// reaches the user, so it reads
// "[module] expected X, got Y" and says what to do. CheckFailure: a bug; the step's rows fail and
// the process lives.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/str.h"

namespace mlxforge {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CheckFailure : std::logic_error {
  using std::logic_error::logic_error;
};

// fail("files", "expected 8 bytes, got ", n) throws Error("[files] expected 8 bytes, got 3").
template <class... Parts>
[[noreturn]] void fail(std::string_view module, const Parts&... parts) {
  throw Error(str("[", module, "] ", parts...));
}

template <class... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw CheckFailure(str("bug: ", parts...));
}

}  // namespace mlxforge
