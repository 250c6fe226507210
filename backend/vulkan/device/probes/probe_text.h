// What probes are, as GLSL.
#pragma once

#include <string>

#include "backend/vulkan/device/probes/probe.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. The first lines of a probe: #version, extensions, HAS_FLOAT16 and HAS_FLOAT64, float modes.
std::string ProbePrelude(const DeviceFacts& facts);
// Pure. A probe's GLSL for a device with these features, but for matrix units (matrix_probe.h).
std::string ProbeText(ProbeSubject::Kind kind, const DeviceFacts& facts);
// Compiled from that.
ProbeModules CompiledProbes();

}  // namespace VXLA_NAMESPACE::vulkan
