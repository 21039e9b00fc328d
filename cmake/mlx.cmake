# MLX's C++ library, headers and CMake package come from its PyPI wheel, installed by set-up into MLXFORGE_PYTHON's environment.
execute_process(COMMAND ${MLXFORGE_PYTHON} -m mlx --cmake-dir OUTPUT_VARIABLE MLX_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE mlx_rc)
if(NOT mlx_rc EQUAL 0)
  message(FATAL_ERROR "MLX not found through MLXFORGE_PYTHON=${MLXFORGE_PYTHON}: run `make setup`")
endif()
find_package(MLX CONFIG REQUIRED PATHS ${MLX_ROOT} NO_DEFAULT_PATH)
# The wheel's headers are not ours to keep warning-free.
get_target_property(mlx_inc mlx INTERFACE_INCLUDE_DIRECTORIES)
if(mlx_inc)
  set_target_properties(mlx PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${mlx_inc}")
endif()

# <mlx/mlx.h> costs two seconds a file, so it is compiled once. Without a time stamp, or ccache never sees the same header twice.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch.cpp CONTENT "// Carries the precompiled header.\n")
add_library(mlxforge_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
target_link_libraries(mlxforge_pch PRIVATE mlx)
target_precompile_headers(mlxforge_pch PRIVATE <mlx/mlx.h>)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(mlxforge_pch PRIVATE -Xclang -fno-pch-timestamp)
endif()
