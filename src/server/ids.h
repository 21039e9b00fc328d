// What answers carry to be told apart.
#pragma once

#include <cstdint>
#include <string>

namespace mlxforge {

// `prefix` and 24 random hexadecimal digits. Any thread.
std::string random_id(const char* prefix);
int64_t unix_seconds();

}  // namespace mlxforge
