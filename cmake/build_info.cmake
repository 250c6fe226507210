# generated/vxla_build_info.h: the commit of the checkout when it was configured, empty where there is none (a source archive, also
# one within another repository), and the build type. The file changes with them alone, so nothing else is built again.
set(VXLA_COMMIT "")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --show-prefix HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
  # The first line is the way from the repository's top to here: nothing.
  if(NOT failed AND found MATCHES "^\n([0-9a-f]+)\n$")
    set(VXLA_COMMIT ${CMAKE_MATCH_1})
  endif()
endif()
set(VXLA_BUILD_TYPE "${CMAKE_BUILD_TYPE}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.h.in ${PROJECT_BINARY_DIR}/include/generated/vxla_build_info.h @ONLY)
