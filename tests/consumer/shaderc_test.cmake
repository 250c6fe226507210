# cmake/shaderc.cmake names what a system has: folders of empty libraries stand for systems.
#   cmake -DSOURCE=<sources> -DWORK=<scratch folder> -P shaderc_test.cmake
cmake_policy(VERSION 3.25)
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so .a)
include(${SOURCE}/cmake/shaderc.cmake)
function(expect system wanted)
  file(REMOVE_RECURSE ${WORK}/${system})
  foreach(library ${ARGN})
    file(WRITE ${WORK}/${system}/${library} "")
  endforeach()
  vxla_find_shaderc(got ${WORK}/${system})
  if(NOT "${got}" STREQUAL "${wanted}")
    message(FATAL_ERROR "${system}: found ${got}, not ${wanted}")
  endif()
endfunction()
expect(glslang_12
  "-Wl,--start-group;shaderc_combined;glslang;MachineIndependent;GenericCodeGen;OSDependent;OGLCompiler;HLSL;SPIRV;SPIRV-Tools-opt;SPIRV-Tools;-Wl,--end-group"
  libshaderc_combined.a libshaderc.so libglslang.a libMachineIndependent.a libGenericCodeGen.a libOSDependent.a libOGLCompiler.a libHLSL.a
  libSPIRV.a libSPIRV-Tools-opt.a libSPIRV-Tools.a)
expect(glslang_15 "-Wl,--start-group;shaderc_combined;glslang;OSDependent;SPIRV;SPIRV-Tools-opt;SPIRV-Tools;-Wl,--end-group"
  libshaderc_combined.a libglslang.a libOSDependent.a libSPIRV.a libSPIRV-Tools-opt.a libSPIRV-Tools.a)
expect(shared_only shaderc_shared libshaderc_shared.so libglslang.a)
expect(shared_debian shaderc libshaderc.so)
