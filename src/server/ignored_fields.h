// Fields of a request that nobody knows: they change nothing, and are not passed over in silence.
#pragma once

#include <string>
#include <vector>

#include "server/http/message.h"

namespace mlxforge {

inline constexpr char kIgnoredFields[] = "x-ignored-fields";

// One line in the log, and the header above that names them; none for none.
HttpHeaders report_ignored(const std::vector<std::string>& names);

}  // namespace mlxforge
