# Packages: `cpack -G DEB` in a build that was configured with -DCMAKE_INSTALL_PREFIX=/usr makes three, which tools/package.sh does: vxla (the
# command and the corpus), libvxla0.1 (libvxla and libvxla_runtime) and libvxla-dev (headers, CMake's package, pkg-config's files). What they
# depend on dpkg-shlibdeps finds. `cpack -G TGZ` makes archives of the same components.
include(GNUInstallDirs)
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(DIRECTORY examples/corpus/ DESTINATION ${CMAKE_INSTALL_DATADIR}/vxla/corpus COMPONENT command)

# The libraries apart from what compiling against them needs, so no other install has them.
install(TARGETS vxla_shared vxla_runtime_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_SKIP EXCLUDE_FROM_ALL)
install(TARGETS vxla_shared vxla_runtime_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT headers NAMELINK_ONLY EXCLUDE_FROM_ALL)
vxla_install_headers(${CMAKE_INSTALL_INCLUDEDIR} headers EXCLUDE_FROM_ALL)
vxla_install_package_files(SHARED headers EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME vxla)
set(CPACK_PACKAGE_VENDOR "The vxla authors")
set(CPACK_PACKAGE_CONTACT "The vxla authors <see SECURITY.md>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "XLA programs on Vulkan GPUs, compared with a CPU reference")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL command library headers)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME vxla)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libvxla${abi})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_HEADERS_PACKAGE_NAME libvxla-dev)
set(CPACK_DEBIAN_HEADERS_PACKAGE_SECTION libdevel)
# The Vulkan loader and LAPACK are opened at run time, so no linker knows of them.
foreach(component COMMAND LIBRARY)
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS libvulkan1)
  set(CPACK_DEBIAN_${component}_PACKAGE_RECOMMENDS "mesa-vulkan-drivers, liblapack3")
endforeach()
set(CPACK_DEBIAN_HEADERS_PACKAGE_DEPENDS "libvxla${abi} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_HEADERS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "runs XLA programs on Vulkan devices and compares them with a CPU reference
 vxla diff says where results differ, by how much, and whose fault it is.")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "XLA programs on Vulkan devices: the libraries
 libvxla compiles and runs programs, libvxla_runtime runs compiled ones.")
set(CPACK_DEBIAN_HEADERS_DESCRIPTION "XLA programs on Vulkan devices: headers of libvxla
 The C and C++ headers, the package for CMake, the files of pkg-config.")
foreach(component command library headers)
  string(TOUPPER ${component} upper)
  install(FILES packaging/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component}
          EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
