# Installs the library into a folder of its own and builds the consumer against it: by find_package, whose program is run, and by
# pkg-config, whose headers are listed: beside the compiler's own, none but vxla's.
#   cmake -DBUILD=<build folder> -DCXX=<compiler> -P run.cmake
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix --component sdk)

# The public headers are these, each of which compiles alone.
file(GLOB headers RELATIVE ${work}/prefix/include ${work}/prefix/include/*/* ${work}/prefix/include/*/*/*)
set(wanted builder.h check.h client.h conditioning_result.h custom_call.h device_options.h device_value.h diff.h dimension_numbers.h element_type.h evaluator.h
    host_bytes.h host_transfer.h isolate.h literal.h literal_compare.h math.h shape.h statistics.h status.h vxla.hpp xla_names.h)
list(TRANSFORM wanted PREPEND vxla/)
list(SORT headers)
list(SORT wanted)
if(NOT headers STREQUAL wanted)
  message(FATAL_ERROR "installed: ${headers}\nwanted: ${wanted}")
endif()
foreach(header ${headers})
  file(WRITE ${work}/alone.cc "#include <${header}>\n")
  run(${CXX} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I${work}/prefix/include ${work}/alone.cc)
endforeach()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G Ninja -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)

file(GLOB_RECURSE pc_files ${work}/prefix/*/vxla.pc)
get_filename_component(pc_dir ${pc_files} DIRECTORY)
find_program(pkg_config NAMES pkg-config pkgconf)
if(NOT pkg_config)
  message(STATUS "no pkg-config here: its file is not tried")
  set(flags -std=c++20 -I${work}/prefix/include)
else()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_dir} ${pkg_config} --cflags --libs vxla
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} ${CMAKE_CURRENT_LIST_DIR}/main.cc -o ${work}/by_pkg_config ${flags})
  run(${work}/by_pkg_config)
endif()
list(FILTER flags EXCLUDE REGEX "^-(l|L|Wl)")
execute_process(COMMAND ${CXX} -M ${CMAKE_CURRENT_LIST_DIR}/main.cc ${flags} OUTPUT_VARIABLE dependencies COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n\\]*/(fmt|nlohmann|vulkan|glm|shaderc)/[^ \n\\]*" foreign "${dependencies}")
if(foreign)
  message(FATAL_ERROR "a public header includes ${foreign}")
endif()
