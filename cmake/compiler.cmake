# Included before project(): clang 19 where nobody chose a compiler and it is installed (it makes the faster kernels), with lld.
# Then ccache, and the flags that every target shares.
if(NOT CMAKE_CXX_COMPILER AND NOT CMAKE_TOOLCHAIN_FILE AND NOT DEFINED ENV{CXX})
  find_program(MLXFORGE_CLANGXX clang++-19)
  find_program(MLXFORGE_CLANG clang-19)
  if(MLXFORGE_CLANGXX AND MLXFORGE_CLANG)
    set(CMAKE_CXX_COMPILER ${MLXFORGE_CLANGXX})
    set(CMAKE_C_COMPILER ${MLXFORGE_CLANG})
    find_program(MLXFORGE_LLD ld.lld-19)
    if(MLXFORGE_LLD)
      set(CMAKE_EXE_LINKER_FLAGS_INIT --ld-path=${MLXFORGE_LLD})
    endif()
  endif()
endif()

# ccache caches precompiled headers and their users only when told that defines and times in them do not matter.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
