# The binary build/bin/mlxforge, and mlxforge-cli, the same file under its older name; links to both in build/.
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_library(EDIT_LIBRARY edit REQUIRED)
mlxforge_module(app DEPS mlxforge_engine mlxforge_server CLI11::CLI11 spdlog::spdlog nlohmann_json::nlohmann_json ${EDIT_LIBRARY})
target_compile_definitions(mlxforge_app PRIVATE MLXFORGE_VERSION="${PROJECT_VERSION}")

add_executable(mlxforge src/app/main.cpp)
target_link_libraries(mlxforge PRIVATE mlxforge_app)
add_custom_command(TARGET mlxforge POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink mlxforge ${CMAKE_BINARY_DIR}/bin/mlxforge-cli
  COMMAND ${CMAKE_COMMAND} -E create_symlink bin/mlxforge ${CMAKE_BINARY_DIR}/mlxforge
  COMMAND ${CMAKE_COMMAND} -E create_symlink bin/mlxforge ${CMAKE_BINARY_DIR}/mlxforge-cli)

# The default model is looked up beside bin/, so other build folders borrow the one that set-up put into build/.
if(NOT CMAKE_BINARY_DIR STREQUAL ${PROJECT_SOURCE_DIR}/build AND NOT EXISTS ${CMAKE_BINARY_DIR}/models)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/build/models ${CMAKE_BINARY_DIR}/models SYMBOLIC)
endif()
