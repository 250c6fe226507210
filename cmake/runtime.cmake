# The sources that run compiled programs, of each layer: what libvxla_runtime is made of, and the lowest part of libvxla. They use
# the standard library, fmt's headers and Vulkan's; the loader is opened at run time. What reads programs, compiles or computes on the
# CPU stays out, and the link of libvxla_runtime fails where one of these files asks for it.
set(VXLA_RUNTIME_SOURCES)
function(vxla_runtime_sources folder)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
  list(TRANSFORM ARGN APPEND .cc)
  set(VXLA_RUNTIME_SOURCES ${VXLA_RUNTIME_SOURCES} ${ARGN} PARENT_SCOPE)
endfunction()
vxla_runtime_sources(core attributes check element_type float_formats instruction literal module module_edits opcode shape type_number)
vxla_runtime_sources(core/host guarded hash host_bytes)
vxla_runtime_sources(core/sizes live_sizes)
vxla_runtime_sources(backend/vulkan/device adopt choose command_buffer device_context device_plan division embedded_probes enabled_features executables
                     external_handle external_memory free_list functions heap_ledger host_image instance kept_tuning kernel loader matrix_probe memory_allocator ownership pretended_gpu probe queue queue_plan quirks shared_signal transfer validation vk_status
                     vulkan_device)
vxla_runtime_sources(backend/vulkan/drivers known_faults)
vxla_runtime_sources(backend/vulkan/drivers/software software_driver)
vxla_runtime_sources(backend/vulkan/shader custom_shader disk_cache pipeline_cache regular_file spirv_cache)
vxla_runtime_sources(backend/vulkan/spirv float_modes spirv_words)
vxla_runtime_sources(scheduler barriers plan work_limit)
vxla_runtime_sources(scheduler/bundle bundle bundle_check bundle_load bundle_target)
vxla_runtime_sources(scheduler/runtime argument_check buffer client compilation event executor)
vxla_runtime_sources(scheduler/runtime/commands argument_block context_pool profiler recorder recording run)
vxla_runtime_sources(scheduler/runtime/memory buffer_pool event_waiter host_array live_values transfers worker)
set(base ${VXLA_RUNTIME_SOURCES})
vxla_runtime_sources(api binding_overlap image_format open_device)
vxla_runtime_sources(api/c c_api c_events c_handles c_image c_memory c_values c_vulkan c_weights)
set(c_api ${VXLA_RUNTIME_SOURCES})
list(REMOVE_ITEM c_api ${base})

# Two archives: the C API needs what stands for the compiler (api/c/c_compiler.h), everything else of vxla stands on the base.
foreach(name base c_api)
  add_library(vxla_${name} STATIC)
  vxla_sources(vxla_${name} ${${name}})
  target_compile_definitions(vxla_${name} PUBLIC VK_NO_PROTOTYPES)
  target_include_directories(vxla_${name} PRIVATE ${XXHASH_INCLUDE_DIR})
  target_link_libraries(vxla_${name} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} PRIVATE fmt::fmt-header-only)
endforeach()
target_link_libraries(vxla_c_api PUBLIC vxla_base)

# libvxla_runtime of both kinds, with the probes' modules from a file that embed_probes wrote.
function(vxla_runtime_libraries probes)
  add_library(vxla_probes OBJECT ${probes})
  target_compile_definitions(vxla_probes PRIVATE VK_NO_PROTOTYPES)
  target_link_libraries(vxla_probes PRIVATE fmt::fmt-header-only)
  foreach(kind STATIC SHARED)
    string(TOLOWER vxla_runtime_${kind} name)
    add_library(${name} ${kind} $<TARGET_OBJECTS:vxla_base> $<TARGET_OBJECTS:vxla_c_api> $<TARGET_OBJECTS:vxla_probes>
                ${PROJECT_SOURCE_DIR}/api/runtime/no_compiler.cc)
    set_target_properties(${name} PROPERTIES OUTPUT_NAME vxla_runtime LINKER_LANGUAGE CXX ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sdk
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sdk RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sdk)
    target_compile_definitions(${name} PRIVATE VK_NO_PROTOTYPES)
    target_link_libraries(${name} PRIVATE fmt::fmt-header-only Threads::Threads ${CMAKE_DL_LIBS})
  endforeach()
  target_compile_definitions(vxla_runtime_static INTERFACE VXLA_STATIC)
  set_target_properties(vxla_runtime_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(UNIX AND NOT APPLE)
    target_link_options(vxla_runtime_shared PRIVATE -Wl,--no-undefined -Wl,--gc-sections
                        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/vxla_runtime.map)
    set_target_properties(vxla_runtime_shared PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/vxla_runtime.map)
  endif()
endfunction()
