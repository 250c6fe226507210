// Shader sources: a kernel's whole GLSL text, put together from the pieces of shader_library.h.
#pragma once

#include <string>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "backend/vulkan/shader/shader_library.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// The float types that a kernel computes with beside f32.
struct FloatTypes {
  bool f16 = false, f64 = false;
};
// Execution modes that keep floats IEEE where the device has them: signed zeros, infinities and NaN are values, results
// round to nearest even, denormals stay. Without them drivers may treat floats as real numbers (x * 0 becomes 0 for
// NaN).
std::string FloatModes(const DeviceFacts& facts, FloatTypes used);

// Whether functions of f64 in pairs of words are among those that it needs. Pure.
bool EmulatesDoubles(const KernelKey& key, ShaderVariant variant);

// The whole GLSL text of a kernel: version, the extensions it uses, execution modes that keep floats IEEE where the
// device has them, the argument block, access macros, those functions of shaders/include that it needs, and the
// algorithm with the generated hooks in place. Pure.
Result<std::string> AssembleShader(const KernelKey& key, const DeviceFacts& facts, BindingMode bindings);

}  // namespace VXLA_NAMESPACE::vulkan
