// What probes are, as GLSL.
#pragma once

#include <string>

#include "backend/vulkan/device/probe.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. A probe's GLSL for a device with these features.
std::string ProbeText(ProbeKind kind, const DeviceFacts& facts);
// Compiled from that.
ProbeModules CompiledProbes();

}  // namespace VXLA_NAMESPACE::vulkan
