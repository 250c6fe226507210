# -DVXLA_RUNTIME_ONLY=ON: libvxla_runtime alone, for a system that the compiler does not run on. Wanted: a C++20 compiler, the headers of fmt, SPIR-V, xxHash and
# Vulkan, and VXLA_PROBES: embedded_probes.cc of a build of the same commit on any system. tools/windows.sh builds the DLL so.
include(GNUInstallDirs)
if(NOT EXISTS "${VXLA_PROBES}")
  message(FATAL_ERROR "VXLA_RUNTIME_ONLY needs VXLA_PROBES, the embedded_probes.cc of a whole build of the same commit: '${VXLA_PROBES}' is no file")
endif()
find_package(Threads REQUIRED)
find_path(VULKAN_INCLUDE_DIR vulkan/vulkan.h REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(SPIRV_INCLUDE_DIR spirv/unified1/spirv.hpp REQUIRED)
include_directories(SYSTEM ${SPIRV_INCLUDE_DIR})
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
add_library(fmt::fmt-header-only INTERFACE IMPORTED)
target_include_directories(fmt::fmt-header-only INTERFACE ${FMT_INCLUDE_DIR} ${VULKAN_INCLUDE_DIR})
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
include(cmake/runtime.cmake)
vxla_runtime_libraries(${VXLA_PROBES})
install(TARGETS vxla_runtime_static vxla_runtime_shared ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/vxla/vxla.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vxla)

# Programs of the tests that use nothing else, for whoever can run them (tools/windows.sh does, under wine).
foreach(test runtime_test bundle_bits)
  add_executable(${test} EXCLUDE_FROM_ALL tests/c_api/${test}.c tests/c_api/layout.c)
  set_target_properties(${test} PROPERTIES C_STANDARD 11)
  target_include_directories(${test} PRIVATE include)
  target_include_directories(${test} SYSTEM PRIVATE ${VULKAN_INCLUDE_DIR})
  target_compile_options(${test} PRIVATE -UVXLA_BUILD)  # these import
  target_link_libraries(${test} PRIVATE vxla_runtime_shared)
endforeach()
