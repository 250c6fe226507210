# Copies the public headers into a folder, all as vxla/<name>, with their includes rewritten to that: the folder above is all that a
# user needs on the include path. A header that includes what is not in the list is an error. What needs more than the standard
# library stays behind: the constructors of Status that format text are for vxla's own sources.
#   cmake -DROOT=<sources> -DOUTPUT=<folder> -DNAMESPACE=<vxla with its version> -P install_headers.cmake
cmake_policy(VERSION 3.25)
set(headers
    include/vxla/vxla.h
    include/vxla/vxla_vulkan.h
    include/vxla/vxla.hpp
    api/verify/conditioning_result.h
    api/custom_call_files.h
    api/device_options.h
    api/verify/diff.h
    api/verify/isolate.h
    backend/cpu/reference/custom_call.h
    backend/cpu/reference/evaluator.h
    backend/custom_kernel.h
    backend/host_transfer.h
    core/builder/builder.h
    core/builder/math.h
    core/check.h
    core/dimension_numbers.h
    core/element_type.h
    core/host/host_bytes.h
    core/literal.h
    core/numerics/literal_compare.h
    core/shape.h
    core/status.h
    core/builder/xla_names.h
    scheduler/runtime/client.h
    scheduler/runtime/buffer.h
    scheduler/runtime/compilation.h
    scheduler/runtime/event.h
    scheduler/replicas/feed_queues.h
    scheduler/statistics.h)
file(REMOVE_RECURSE ${OUTPUT}/vxla)
foreach(header ${headers})
  file(READ ${ROOT}/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include ${includes})
    string(REGEX REPLACE "#include \"(.+)\"" "\\1" included "${include}")
    if(NOT included IN_LIST headers)
      message(FATAL_ERROR "${header} is public and includes ${included}, which is not")
    endif()
  endforeach()
  string(REGEX REPLACE "#include \"([^\"]*/)?([^\"/]+)\"" "#include \"vxla/\\2\"" text "${text}")
  string(FIND "${text}" "#include <fmt/" uses_fmt)
  if(NOT uses_fmt EQUAL -1)
    string(REGEX REPLACE "#include <fmt/[a-z]+\\.h>\n\n?" "" text "${text}")
    string(FIND "${text}" "#define VXLA_DEFINE_STATUS" begin)
    string(FIND "${text}" "#undef VXLA_DEFINE_STATUS\n" end)
    if(begin EQUAL -1 OR end EQUAL -1)
      message(FATAL_ERROR "${header} includes fmt for something else than VXLA_DEFINE_STATUS")
    endif()
    string(SUBSTRING "${text}" 0 ${begin} before)
    math(EXPR end "${end} + 26")
    string(SUBSTRING "${text}" ${end} -1 after)
    set(text "${before}${after}")
  endif()
  string(REPLACE "namespace VXLA_NAMESPACE" "namespace ${NAMESPACE}" text "${text}")
  cmake_path(GET header FILENAME name)
  file(WRITE ${OUTPUT}/vxla/${name} "${text}")
endforeach()
