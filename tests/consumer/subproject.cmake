# What configuring promises: inside another project vxla adds neither tests nor examples and leaves the type of the build alone; flags
# that state an optimisation are all of it; the set-up on a system without dpkg says what is needed and goes on.
#   cmake -DSOURCE=<vxla> -DWORK=<folder> -DCXX=<compiler> -P subproject.cmake
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/host/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES CXX C)
enable_testing()
add_subdirectory(${SOURCE} vxla)
add_executable(host host.cc)
target_link_libraries(host PRIVATE vxla_api)
")
file(WRITE ${WORK}/host/host.cc "int main() {}\n")
function(configure source folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${source} -B ${folder} -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
                  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(expect what)
  if(NOT (${ARGN}))
    message(FATAL_ERROR "${what}")
  endif()
endfunction()

configure(${WORK}/host ${WORK}/as_subproject)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/as_subproject -N OUTPUT_VARIABLE tests COMMAND_ERROR_IS_FATAL ANY)
expect("another project has tests of vxla's: ${tests}" tests MATCHES "Total Tests: 0")
file(READ ${WORK}/as_subproject/compile_commands.json commands)
foreach(folder tests examples)
  expect("another project builds ${folder}/" NOT commands MATCHES "${SOURCE}/${folder}/")
endforeach()
file(STRINGS ${WORK}/as_subproject/CMakeCache.txt type REGEX "^CMAKE_BUILD_TYPE:")
expect("the build has a type: ${type}" type MATCHES "=$")

# The last option of this kind is the one that counts.
function(optimisations folder result)
  file(READ ${folder}/compile_commands.json commands)
  string(REGEX MATCHALL "-O[0-9s]+ [^\"]*-c [^\"]*/core_0\\.cc" found "${commands}")
  list(TRANSFORM found REPLACE " .*" "")
  list(REMOVE_DUPLICATES found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()
configure(${SOURCE} ${WORK}/release -DVXLA_BUILD_TESTS=OFF)
optimisations(${WORK}/release found)
expect("a release is built with ${found}" found STREQUAL "-O1")
configure(${SOURCE} ${WORK}/stated -DVXLA_BUILD_TESTS=OFF "-DCMAKE_CXX_FLAGS=-O3 -g")
optimisations(${WORK}/stated found)
expect("flags that state -O3 give ${found}" found STREQUAL "-O3")

# A search path with bash's own tools alone.
file(MAKE_DIRECTORY ${WORK}/bin)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PATH=${WORK}/bin ${BASH} ${SOURCE}/tools/install_deps.sh test
                RESULT_VARIABLE code ERROR_VARIABLE said)
expect("install_deps.sh without dpkg: ${code}, ${said}" code EQUAL 0 AND said MATCHES "libshaderc-dev.*libgtest-dev")
execute_process(COMMAND ${BASH} ${SOURCE}/tools/install_deps.sh everything RESULT_VARIABLE code ERROR_VARIABLE said)
expect("install_deps.sh everything: ${code}, ${said}" code EQUAL 2 AND said MATCHES "neither build, test nor wheel")
