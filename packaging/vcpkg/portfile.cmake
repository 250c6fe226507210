# vcpkg: an overlay port of this checkout, `vcpkg install vxla --overlay-ports=packaging/vcpkg`. No vcpkg has run it.
set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../..")
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DVXLA_BUILD_TESTS=OFF -DVXLA_BUILD_EXAMPLES=OFF -DVXLA_MPI=OFF -DVXLA_SHARED=${shared})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/vxla)
vcpkg_copy_tools(TOOL_NAMES vxla AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
