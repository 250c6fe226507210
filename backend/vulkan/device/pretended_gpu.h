// What a software driver is taken for when the kernels of GPUs run on it (--emulate): the facts that tiles, shares and
// kernels are chosen by, of families of GPUs. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan {

// "gcn", "rdna2", "rdna3", "nvidia", "intel", "apple", "mobile"; "gpu" is one that nobody knows.
std::optional<GpuFamily> GpuFamilyOf(std::string_view name);

// Vendor, kind, units, shared memory and workgroups of the family, limits no larger than the device's own, which
// kernels still run on: so are its subgroups. The matrix units that `facts` has stood in for become the family's.
void TakeFor(GpuFamily family, DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
