#include "server/ignored_fields.h"

#include "base/log.h"

namespace mlxforge {
namespace {

constexpr size_t kReportedNames = 16;
constexpr size_t kReportedBytes = 64;

// Names come from the client and go into a header and the log: printable ASCII without separators
// only, and not too many.
std::string list_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kReportedNames; ++i) {
    if (i > 0) out += ", ";
    for (const unsigned char c : names[i].substr(0, kReportedBytes))
      out += c > 0x20 && c < 0x7f && c != ',' ? static_cast<char>(c) : '?';
  }
  return out;
}

}  // namespace

HttpHeaders report_ignored(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const std::string list = list_names(names);
  log_info("[server] request fields that nobody knows were ignored: ", list);
  return {{kIgnoredFields, list}};
}

}  // namespace mlxforge
