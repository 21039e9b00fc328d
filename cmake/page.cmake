# The chat page (src/server/page) as C++ constants in mlxforge_server.
set(page ${PROJECT_SOURCE_DIR}/src/server/page)
file(GLOB page_parts CONFIGURE_DEPENDS ${page}/*.js ${page}/*.css ${page}/*.html)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/page.cpp
  COMMAND ${MLXFORGE_PYTHON} ${page}/embed.py ${page} ${CMAKE_BINARY_DIR}/page.cpp
  DEPENDS ${page}/embed.py ${page_parts}
  VERBATIM)
target_sources(mlxforge_server PRIVATE ${CMAKE_BINARY_DIR}/page.cpp)
