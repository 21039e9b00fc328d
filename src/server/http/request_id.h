// The name of a request in the log and in its answer's x-request-id header.
#pragma once

#include <string>
#include <string_view>

namespace mlxforge {

// What the client calls it, if that is short and fit for a header and a log line; else a random
// one.
std::string request_id(std::string_view sent);

}  // namespace mlxforge
