// The project's version, from CMakeLists.txt.
#pragma once

namespace mlxforge {
inline constexpr const char* kVersion = MLXFORGE_VERSION;
}
