#pragma once

namespace mlxforge {
inline constexpr const char* kVersion =
    MLXFORGE_VERSION;  // the project's version, from CMakeLists.txt
}
