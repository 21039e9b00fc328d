# Tests that are not C++: every tests/test_*.py under the environment's pytest, and the format of the sources.
file(GLOB python_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/test_*.py)
if(MLXFORGE_WITH_MLX)
  foreach(file IN LISTS python_tests)
    get_filename_component(name ${file} NAME_WE)
    mlxforge_test(${name} ${MLXFORGE_PYTHON} -m pytest -q -p no:cacheprovider ${file})
  endforeach()
  mlxforge_test(format ${PROJECT_SOURCE_DIR}/scripts/format.sh --check)
endif()
