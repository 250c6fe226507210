// Shader sources: the files of shaders/, carried inside the library, and the assembly of a kernel's whole GLSL text.
#pragma once

#include <string>
#include <string_view>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "core/status.h"

namespace vxla::vulkan {

// One file below shaders/, written by tools/embed_shaders.cmake; a null name ends the table.
struct EmbeddedShader {
  const char* name;  // "include/math/exp_log.glsl"
  const char* text;
};
extern const EmbeddedShader kEmbeddedShaders[];
extern const int kEmbeddedShaderCount;

// The text of an embedded file; empty if there is none.
std::string_view FindShader(std::string_view name);

// Whether accesses go through addresses summed from 32-bit parts (shaders/include/access.glsl says why). Tuning asks
// too: each access site then costs a quarter of what it costs otherwise, but only scalar elements (no f32x4) and one
// access per line of text, in loops that are not unrolled. Measured on lavapipe of Mesa 22.3; later ones do well with
// plain addresses.
bool SplitsAddresses(const DeviceFacts& facts, BindingMode bindings);

// The float types that a kernel computes with beside f32.
struct FloatTypes {
  bool f16 = false, f64 = false;
};
// Execution modes that keep floats IEEE where the device has them: signed zeros, infinities and NaN are values, results
// round to nearest even, denormals stay. Without them drivers may treat floats as real numbers (x * 0 becomes 0 for
// NaN).
std::string FloatModes(const DeviceFacts& facts, FloatTypes used);

// Whether an assembled text uses the device's own / or sqrt of floats (or would, were they not corrected), so that what
// the facts say of them matters.
bool DividesNatively(std::string_view text, const DeviceFacts& facts);

// The whole GLSL text of a kernel: version, the extensions it uses, execution modes that keep floats IEEE where the
// device has them, the argument block, access macros, those functions of shaders/include that it needs, and the
// algorithm with the generated hooks in place. Pure.
Result<std::string> AssembleShader(const KernelKey& key, const DeviceFacts& facts, BindingMode bindings);

}  // namespace vxla::vulkan
