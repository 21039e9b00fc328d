# mlxforge_module(NAME [DEPS lib...] [EXCLUDE regex...]): the static library mlxforge_NAME from src/NAME/**.cpp (tests, fuzz targets,
# benches and main.cpp left out), and the GoogleTest binary NAME_test from src/NAME/**_test.cpp. A module may only depend on modules
# above it in docs/architecture.md; tests/test_structure.py checks the includes.
function(mlxforge_module NAME)
  cmake_parse_arguments(ARG "" "" "DEPS;EXCLUDE" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/src/${NAME})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cpp$|/main\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(mlxforge_${NAME} STATIC ${sources})
    target_link_libraries(mlxforge_${NAME} PUBLIC ${ARG_DEPS})
    target_include_directories(mlxforge_${NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    mlxforge_precompiled(mlxforge_${NAME})
  else()
    add_library(mlxforge_${NAME} INTERFACE)
    target_link_libraries(mlxforge_${NAME} INTERFACE ${ARG_DEPS})
    target_include_directories(mlxforge_${NAME} INTERFACE ${PROJECT_SOURCE_DIR}/src)
  endif()
  if(tests)
    add_executable(${NAME}_test ${tests})
    target_link_libraries(${NAME}_test PRIVATE mlxforge_${NAME} GTest::gtest GTest::gtest_main)
    mlxforge_precompiled(${NAME}_test)
    # GoogleTest's templates cost more to optimise than a test gains by it.
    target_compile_options(${NAME}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    mlxforge_test(${NAME} ${NAME}_test)
  endif()
endfunction()

# mlxforge_test(NAME COMMAND...): runs in the source folder and learns where things are from the environment.
function(mlxforge_test NAME)
  add_test(NAME ${NAME} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 900 ENVIRONMENT
    "MLXFORGE_BUILD=${CMAKE_BINARY_DIR};MLXFORGE_VOCABS=${MLXFORGE_VOCABS};MLXFORGE_PYTHON=${MLXFORGE_PYTHON}")
endfunction()

# mlxforge_precompile(NAME HEADERS DEPS), DEPS having the include paths: the modules declared from here on share these headers, compiled once: <mlx/mlx.h> costs two
# seconds a file, <nlohmann/json.hpp> and GoogleTest one. Without a time stamp, or ccache never sees the same header twice.
function(mlxforge_precompile NAME HEADERS DEPS)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${NAME}.cpp CONTENT "// Carries the precompiled header.\n")
  add_library(${NAME} OBJECT ${CMAKE_BINARY_DIR}/${NAME}.cpp)
  target_link_libraries(${NAME} PRIVATE ${DEPS})
  target_precompile_headers(${NAME} PRIVATE ${HEADERS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_compile_options(${NAME} PRIVATE -Xclang -fno-pch-timestamp)
  endif()
  set(mlxforge_pch ${NAME} PARENT_SCOPE)
endfunction()

function(mlxforge_precompiled NAME)
  if(mlxforge_pch)
    target_precompile_headers(${NAME} REUSE_FROM ${mlxforge_pch})
  endif()
endfunction()
