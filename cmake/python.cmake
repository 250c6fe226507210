# The Python module `vxla`: PYTHONPATH=<build>/python is as good as an installed wheel.
set(package ${PROJECT_BINARY_DIR}/python/vxla)
file(GLOB python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/integrations/python/vxla/*.py)
foreach(source ${python_sources} ${PROJECT_SOURCE_DIR}/integrations/python/vxla/py.typed)
  cmake_path(GET source FILENAME name)
  configure_file(${source} ${package}/${name} COPYONLY)
endforeach()
file(MAKE_DIRECTORY ${package}/bin)
file(CREATE_LINK ${PROJECT_BINARY_DIR}/vxla ${package}/bin/vxla SYMBOLIC)

# And what a wheel has beside its Python (integrations/python/pyproject.toml, which tools/wheel.sh builds): the command, the library with its
# headers, the plugin. A wheel holds no links, so the library has one name.
if(SKBUILD)
  if(NOT TARGET vxla_pjrt)
    message(FATAL_ERROR "A wheel needs the PJRT plugin: VXLA_BUILD_PJRT=ON")
  endif()
  set_property(TARGET vxla_shared PROPERTY VERSION)
  set_property(TARGET vxla_shared PROPERTY SOVERSION)
  install(TARGETS vxla RUNTIME DESTINATION vxla/bin COMPONENT wheel)
  install(TARGETS vxla_shared LIBRARY DESTINATION vxla/lib COMPONENT wheel)
  install(TARGETS vxla_pjrt LIBRARY DESTINATION jax_plugins/vxla COMPONENT wheel)
  vxla_install_headers(vxla/include wheel)
endif()
