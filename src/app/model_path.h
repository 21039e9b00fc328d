// What MODEL on the command line means on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace mlxforge {

// The file or folder of `model`; for an empty one the default model, ../models/*.gguf as seen from
// the folder of `executable`. Throws Error that says what to give when nothing is there: a hub id
// is not downloaded.
std::filesystem::path find_model(const std::string& model, const std::filesystem::path& executable);

std::filesystem::path this_executable();  // links resolved

}  // namespace mlxforge
