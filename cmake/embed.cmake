# What mlxforge_server has built in: src/server/PART/embed.py makes PART.cpp of the files beside it.
#   page      the chat page
#   openapi   schemas of the API's requests and answers
foreach(part page openapi)
  set(folder ${PROJECT_SOURCE_DIR}/src/server/${part})
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.js ${folder}/*.css ${folder}/*.html ${folder}/*.json)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/${part}.cpp
    COMMAND ${MLXFORGE_PYTHON} ${folder}/embed.py ${folder} ${CMAKE_BINARY_DIR}/${part}.cpp
    DEPENDS ${folder}/embed.py ${files}
    VERBATIM)
  target_sources(mlxforge_server PRIVATE ${CMAKE_BINARY_DIR}/${part}.cpp)
endforeach()
