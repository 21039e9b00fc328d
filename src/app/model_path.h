// What MODEL on the command line means on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace mlxforge {

// `model` as a path, for open_model to look at; for an empty one the default model,
// ../models/*.gguf as seen from the folder of `executable`. Throws Error that says what to give
// unless exactly one is there.
std::filesystem::path find_model(const std::string& model, const std::filesystem::path& executable);

std::filesystem::path this_executable();  // links resolved

}  // namespace mlxforge
