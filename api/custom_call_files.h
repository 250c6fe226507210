// Custom calls from files: functions of shared libraries, kernels in GLSL or SPIR-V.
#pragma once

#include <string>

#include "backend/cpu/reference/library/custom_call.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// The function `symbol` of a shared library, which stays open until the process ends. The api_version of the
// instruction that names `target` says what the function is (CustomCallRegistry::RegisterSymbol). kInvalidArgument: the
// file does not open as a library, or has no such symbol.
Status RegisterLibraryFunction(CustomCallRegistry& registry, const std::string& target, const std::string& library,
                               const std::string& symbol);

// A kernel: SPIR-V if the file's name ends in .spv, else GLSL. kInvalidArgument: it cannot be read.
Status RegisterKernelFile(CustomCallRegistry& registry, const std::string& target, const std::string& file);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
