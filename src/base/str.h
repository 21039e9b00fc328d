// str(a, b, ...): its arguments written one after another, as by operator<<.
#pragma once

#include <sstream>
#include <string>

namespace mlxforge {

template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace mlxforge
