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
