# What `cmake --install` puts in place: libvxla.a, or with -DVXLA_SHARED=ON libvxla.so, with all of vxla's own code; beside it
# libvxla_runtime, the part that loads and runs bundles; include/vxla,
# lib/cmake/vxla, lib/pkgconfig. `--component sdk` is that without the command, and `sdk_static` and `sdk_shared` are each of both.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects $<TARGET_OBJECTS:vxla_base> $<TARGET_OBJECTS:vxla_c_api> $<TARGET_OBJECTS:vxla_core> $<TARGET_OBJECTS:vxla_replicas> $<TARGET_OBJECTS:vxla_cpu> $<TARGET_OBJECTS:vxla_vulkan> $<TARGET_OBJECTS:vxla_scheduler>
    $<TARGET_OBJECTS:vxla_api>)
add_library(vxla_archive STATIC ${objects})
set_target_properties(vxla_archive PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sdk)
add_library(vxla_shared SHARED ${objects})
set_target_properties(vxla_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sdk)
set_target_properties(vxla_archive vxla_shared PROPERTIES OUTPUT_NAME vxla LINKER_LANGUAGE CXX)
target_link_libraries(vxla_shared PRIVATE fmt::fmt vxla_shaderc spirv-cross-c-shared Threads::Threads ${CMAKE_DL_LIBS})
if(UNIX AND NOT APPLE)
  # The map keeps back what templates of other libraries instantiate for public types.
  target_link_options(vxla_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined
                      -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/vxla.map)
  set_target_properties(vxla_shared PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/vxla.map)
endif()

# libvxla_runtime: the C API of bundles, without the compiler and the CPU reference. Its probes are compiled by a program of the build.
set(probes ${PROJECT_BINARY_DIR}/embedded_probes.cc)
add_executable(embed_probes tools/embed/embed_probes.cc)
target_link_libraries(embed_probes PRIVATE vxla_vulkan)
add_custom_command(OUTPUT ${probes} COMMAND embed_probes ${probes} DEPENDS embed_probes)
vxla_runtime_libraries(${probes})

# The library of C++ itself, which a program in C links with an archive.
set(cxx_library -lstdc++)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND (APPLE OR CMAKE_CXX_FLAGS MATCHES "-stdlib=libc\\+\\+"))
  set(cxx_library -lc++)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vxla)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sdk/vxlaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# The pkg-config file's prefix is relative to the file itself: it may be chosen when installing.
file(RELATIVE_PATH VXLA_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)

# The public headers into a folder, as an install component; a further argument: EXCLUDE_FROM_ALL. They are rewritten when they are
# installed: cmake/install_headers.cmake.
function(vxla_install_headers destination component)
  set(headers ${PROJECT_BINARY_DIR}/sdk/include)
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${headers}
                \"-DNAMESPACE=${VXLA_NAMESPACE}\" -P ${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT ${component} ${ARGN})
  install(DIRECTORY ${headers}/ DESTINATION ${destination} COMPONENT ${component} ${ARGN})
endfunction()

# What finds the library of a kind (STATIC, SHARED), for CMake and for pkg-config, as an install component; a further argument:
# EXCLUDE_FROM_ALL.
function(vxla_install_package_files kind component)
  set(VXLA_KIND ${kind})
  set(VXLA_PC_LIBS "")
  if(kind STREQUAL SHARED)
    set(VXLA_FILE ${CMAKE_SHARED_LIBRARY_PREFIX}vxla${CMAKE_SHARED_LIBRARY_SUFFIX})
    set(VXLA_RUNTIME_FILE ${CMAKE_SHARED_LIBRARY_PREFIX}vxla_runtime${CMAKE_SHARED_LIBRARY_SUFFIX})
    set(VXLA_LINK_LIBRARIES "")
    set(VXLA_RUNTIME_LINK_LIBRARIES "")
    set(runtime_flags "")
  else()
    set(VXLA_FILE ${CMAKE_STATIC_LIBRARY_PREFIX}vxla${CMAKE_STATIC_LIBRARY_SUFFIX})
    set(VXLA_RUNTIME_FILE ${CMAKE_STATIC_LIBRARY_PREFIX}vxla_runtime${CMAKE_STATIC_LIBRARY_SUFFIX})
    set(VXLA_LINK_LIBRARIES fmt::fmt ${VXLA_SHADERC_LIBRARIES} spirv-cross-c-shared Threads::Threads ${CMAKE_DL_LIBS})
    set(VXLA_RUNTIME_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS})
    set(runtime_flags " ${cxx_library} -pthread")
    foreach(needed ${CMAKE_DL_LIBS})
      string(APPEND runtime_flags " -l${needed}")
    endforeach()
    foreach(needed fmt ${VXLA_SHADERC_LIBRARIES} spirv-cross-c-shared ${CMAKE_DL_LIBS})
      string(REGEX REPLACE "^([^-].*)$" "-l\\1" flag ${needed})
      string(APPEND VXLA_PC_LIBS " ${flag}")
    endforeach()
    string(APPEND VXLA_PC_LIBS " ${cxx_library} -lm -pthread")
  endif()
  string(TOLOWER ${kind} folder)
  set(made ${PROJECT_BINARY_DIR}/sdk/${folder})
  configure_package_config_file(cmake/vxlaConfig.cmake.in ${made}/vxlaConfig.cmake INSTALL_DESTINATION ${package_dir}
                                PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  set(VXLA_PC_NAME vxla)
  set(VXLA_PC_DESCRIPTION "XLA programs on Vulkan GPUs, compared with a CPU reference")
  configure_file(cmake/vxla.pc.in ${made}/vxla.pc @ONLY)
  set(VXLA_PC_NAME vxla_runtime)
  set(VXLA_PC_DESCRIPTION "compiled XLA programs on Vulkan GPUs: the C API without a compiler")
  set(VXLA_PC_LIBS "${runtime_flags}")
  configure_file(cmake/vxla.pc.in ${made}/vxla_runtime.pc @ONLY)
  install(FILES ${made}/vxlaConfig.cmake ${PROJECT_BINARY_DIR}/sdk/vxlaConfigVersion.cmake DESTINATION ${package_dir}
          COMPONENT ${component} ${ARGN})
  install(FILES ${made}/vxla.pc ${made}/vxla_runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component} ${ARGN})
endfunction()

# The SDK with the library of a kind as an install component; a further argument: EXCLUDE_FROM_ALL.
function(vxla_install_sdk kind component)
  set(library vxla_archive)
  if(kind STREQUAL SHARED)
    set(library vxla_shared)
  endif()
  string(TOLOWER vxla_runtime_${kind} runtime)
  install(TARGETS ${library} ${runtime} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} ${ARGN}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${component} ${ARGN})
  vxla_install_headers(${CMAKE_INSTALL_INCLUDEDIR} ${component} ${ARGN})
  vxla_install_package_files(${kind} ${component} ${ARGN})
  install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component} ${ARGN})
endfunction()

if(VXLA_SHARED)
  vxla_install_sdk(SHARED sdk)
else()
  vxla_install_sdk(STATIC sdk)
endif()
vxla_install_sdk(STATIC sdk_static EXCLUDE_FROM_ALL)
vxla_install_sdk(SHARED sdk_shared EXCLUDE_FROM_ALL)

# The same names for a project that has vxla as a part of itself (FetchContent, add_subdirectory): vxla::vxla and vxla::runtime, with the
# public headers as an installed vxla has them.
set(public_headers ${PROJECT_BINARY_DIR}/public_headers)
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${public_headers} "-DNAMESPACE=${VXLA_NAMESPACE}"
                        -P ${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake COMMAND_ERROR_IS_FATAL ANY)
include(cmake/public_headers.cmake)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers} cmake/install_headers.cmake)
add_library(vxla_package INTERFACE)
target_link_libraries(vxla_package INTERFACE vxla_archive fmt::fmt vxla_shaderc spirv-cross-c-shared Threads::Threads ${CMAKE_DL_LIBS})
add_library(vxla_runtime_package INTERFACE)
target_link_libraries(vxla_runtime_package INTERFACE vxla_runtime_static Threads::Threads ${CMAKE_DL_LIBS})
foreach(package vxla_package vxla_runtime_package)
  target_include_directories(${package} SYSTEM INTERFACE ${public_headers})
  target_compile_features(${package} INTERFACE cxx_std_20)
  target_compile_definitions(${package} INTERFACE VXLA_STATIC)
endforeach()
add_library(vxla::vxla ALIAS vxla_package)
add_library(vxla::runtime ALIAS vxla_runtime_package)
