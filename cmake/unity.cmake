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
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
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
      set(file ${PROJECT_BINARY_DIR}/unity/${target}/${folder}_${number}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      target_sources(${target} PRIVATE ${file})
    endforeach()
  endforeach()
endfunction()
