# What `cmake --install` puts in place: libvxla.a (or libvxla.so) with all of vxla's own code, include/vxla, lib/cmake/vxla, lib/pkgconfig.
# `--component sdk` is the library without the command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects $<TARGET_OBJECTS:vxla_core> $<TARGET_OBJECTS:vxla_cpu> $<TARGET_OBJECTS:vxla_vulkan> $<TARGET_OBJECTS:vxla_scheduler>
    $<TARGET_OBJECTS:vxla_api>)
if(VXLA_SHARED)
  set(VXLA_KIND SHARED)
  add_library(vxla_archive SHARED ${objects})
  set_target_properties(vxla_archive PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sdk)
  # The map keeps back what templates of other libraries instantiate for public types.
  target_link_options(vxla_archive PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/vxla.map)
  target_link_libraries(vxla_archive PRIVATE fmt::fmt vxla_shaderc spirv-cross-c-shared Threads::Threads ${CMAKE_DL_LIBS})
  set(VXLA_FILE libvxla.so)
  set(VXLA_LINK_LIBRARIES "")
else()
  set(VXLA_KIND STATIC)
  add_library(vxla_archive STATIC ${objects})
  set_target_properties(vxla_archive PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sdk)
  set(VXLA_FILE libvxla.a)
  set(VXLA_LINK_LIBRARIES fmt::fmt ${VXLA_SHADERC_LIBRARIES} spirv-cross-c-shared Threads::Threads ${CMAKE_DL_LIBS})
endif()
set_target_properties(vxla_archive PROPERTIES OUTPUT_NAME vxla LINKER_LANGUAGE CXX)
install(TARGETS vxla_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk NAMELINK_COMPONENT sdk)

# The headers are rewritten when they are installed: cmake/install_headers.cmake.
set(public_headers ${CMAKE_BINARY_DIR}/sdk/include)
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" -DROOT=${CMAKE_SOURCE_DIR} -DOUTPUT=${public_headers} \"-DNAMESPACE=${VXLA_NAMESPACE}\"
              -P ${CMAKE_SOURCE_DIR}/cmake/install_headers.cmake COMMAND_ERROR_IS_FATAL ANY)" COMPONENT sdk)
install(DIRECTORY ${public_headers}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vxla)
configure_package_config_file(cmake/vxlaConfig.cmake.in ${CMAKE_BINARY_DIR}/sdk/vxlaConfig.cmake INSTALL_DESTINATION ${package_dir}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sdk/vxlaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sdk/vxlaConfig.cmake ${CMAKE_BINARY_DIR}/sdk/vxlaConfigVersion.cmake DESTINATION ${package_dir}
        COMPONENT sdk)

# Relative to the file itself: the prefix may be chosen when installing.
file(RELATIVE_PATH VXLA_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(VXLA_PC_LIBS "")
if(VXLA_KIND STREQUAL STATIC)
  foreach(library fmt ${VXLA_SHADERC_LIBRARIES} spirv-cross-c-shared ${CMAKE_DL_LIBS})
    string(REGEX REPLACE "^([^-].*)$" "-l\\1" flag ${library})
    string(APPEND VXLA_PC_LIBS " ${flag}")
  endforeach()
  string(APPEND VXLA_PC_LIBS " -pthread")
endif()
configure_file(cmake/vxla.pc.in ${CMAKE_BINARY_DIR}/sdk/vxla.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sdk/vxla.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT sdk)
