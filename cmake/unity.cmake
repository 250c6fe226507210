# vxla_sources(<target> <sources ...>): gives the target its sources in batches. A batch is one file that includes its sources, so that
# headers and templates are compiled once for all of them: a third of the time that they take one by one.
# Not CMAKE_UNITY_BUILD: its files hold absolute paths, so ccache would share nothing between two checkouts, and its batches cross
# folders, so a new file would change all that follow it.
# What this asks of the sources of one folder: no name of an unnamed namespace twice. A test file that needs such a name has a
# namespace of its own, named after the file.
option(VXLA_UNITY "Compile the sources of a folder in batches; OFF compiles files alone, which is quicker after a change of one" ON)
set(VXLA_UNITY_BATCH 16)

function(vxla_sources target)
  if(NOT VXLA_UNITY)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  set(folders "")
  list(SORT ARGN)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH sources_${folder} files)
    # As few batches as hold them, of equal length.
    math(EXPR batches "(${files} + ${VXLA_UNITY_BATCH} - 1) / ${VXLA_UNITY_BATCH}")
    math(EXPR last "${batches} - 1")
    foreach(number RANGE ${last})
      math(EXPR begin "${files} * ${number} / ${batches}")
      math(EXPR length "${files} * (${number} + 1) / ${batches} - ${begin}")
      list(SUBLIST sources_${folder} ${begin} ${length} batch)
      list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN batch "" text)
      set(file ${CMAKE_BINARY_DIR}/unity/${target}/${folder}_${number}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      target_sources(${target} PRIVATE ${file})
    endforeach()
  endforeach()
endfunction()

# vxla_precompiled(<target> [<owner>]): the headers that nearly every file of the target includes, parsed once: by the target itself, or by
# `owner`, which is compiled with the same options. tools/build.sh does without where ccache is: it shares nothing between two checkouts
# of what is compiled with such a header.
set(VXLA_COMMON_HEADERS
  <algorithm> <array> <bit> <cmath> <complex> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <numeric> <optional>
  <ranges> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)
function(vxla_precompiled target)
  if(ARGC GREATER 1)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE ${VXLA_COMMON_HEADERS})
  endif()
endfunction()
