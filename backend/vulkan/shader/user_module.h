// User modules: the user's GLSL compiled, and what it must be like (docs/guides/custom_calls.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/vulkan/shader/reflection.h"
#include "backend/vulkan/shader/shader_compiler.h"

namespace VXLA_NAMESPACE::vulkan {

// As CompileGlsl, of a text that holds a user's or is made of it: an error is the user's (kInvalidArgument) and shows
// the lines of `user`. `name`: of the kernel's file.
Result<std::vector<uint32_t>> CompileUserGlsl(std::string_view text, const std::string& name,
                                              const CompileTarget& target, std::string_view user);

// Whether the host's buffers fit the module's under this mode: kInvalidArgument says what to change.
Status CheckUserModule(const ModuleInterface& module, const std::string& name, uint32_t buffers, BindingMode mode);

}  // namespace VXLA_NAMESPACE::vulkan
