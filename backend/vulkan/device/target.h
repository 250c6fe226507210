// Targets: devices that kernels are compiled for and that need not be there.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backend/vulkan/device/open.h"

namespace VXLA_NAMESPACE::vulkan {

// What the bundle's generic variant asks for, and no more: Vulkan 1.2 with its smallest limits, but 16 storage buffers
// in a kernel under descriptors (every desktop driver has more), and buffer addresses under addresses. No types but
// the 32-bit ones, no subgroups; division and fma as Vulkan leaves them to drivers. The drivers' faults that are known
// are avoided: the plan runs on all of them.
DeviceFacts GenericFacts(BindingMode mode);

// A device with these facts that compiles and does nothing else: programs are planned for it, KernelModule gives their
// kernels.
std::unique_ptr<Device> MakeTarget(const DeviceFacts& facts, BindingMode mode, const OpenOptions& options);

}  // namespace VXLA_NAMESPACE::vulkan
