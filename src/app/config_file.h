// The config file: one JSON object of options by their names, such as {"port": 9000, "alias": ["a",
// "b"], "kv-budget": "2G"}.
#pragma once

#include <filesystem>

#include "base/options.h"

namespace mlxforge {

// Throws UsageError naming the file and the key, for an unknown key too.
void set_options_from_file(Options& options, const std::filesystem::path& file);

}  // namespace mlxforge
