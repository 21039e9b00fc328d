# MLXFORGE_CARGO: the first cargo that is new enough, in the order in which scripts/setup.sh looks: the one that set-up unpacked,
# PATH's, rustup's. mlxforge_cargo_env holds what it needs around it to find its own rustc.
set(mlxforge_rust_minimum 1.87)
set(unpacked ${PROJECT_SOURCE_DIR}/build/rust/usr)
function(mlxforge_cargo_is_new_enough result cargo)
  execute_process(COMMAND ${cargo} --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCH "[0-9]+\\.[0-9]+" version "${text}")
  if(NOT version VERSION_GREATER_EQUAL mlxforge_rust_minimum)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
find_program(MLXFORGE_CARGO cargo HINTS ${unpacked}/bin PATHS $ENV{CARGO_HOME}/bin $ENV{HOME}/.cargo/bin
             VALIDATOR mlxforge_cargo_is_new_enough)
if(NOT MLXFORGE_CARGO)
  message(FATAL_ERROR "cargo ${mlxforge_rust_minimum} or newer not found: run `make setup`, or install Rust from https://rustup.rs")
endif()

cmake_path(GET MLXFORGE_CARGO PARENT_PATH cargo_bin)
set(mlxforge_cargo_env PATH=${cargo_bin}:$ENV{PATH})
if(cargo_bin STREQUAL ${unpacked}/bin)
  list(APPEND mlxforge_cargo_env LD_LIBRARY_PATH=${unpacked}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
