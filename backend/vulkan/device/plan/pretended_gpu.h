// What a device is taken for where tiles, shares and kernels are chosen: a software driver for a GPU of some family, so
// that its kernels run there (--emulate); any device for one that all of them can stand for (--same-bits). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan {

// To test on software drivers, whose memory is all of one kind, what other devices have.
enum class PretendedMemory : uint8_t {
  kNone,
  kInvisible,  // device memory that the host does not see: a discrete GPU
  kUncached,   // device memory that it sees and that is slow to read: one with a resizable BAR
};

// "gcn", "rdna2", "rdna3", "nvidia", "intel", "apple", "mobile"; "gpu" is one that nobody knows.
std::optional<GpuFamily> GpuFamilyOf(std::string_view name);

// Of a GPU: its kind, and what things cost its kernels.
void TakeForGpu(DeviceFacts& facts);

// Vendor, kind, units, shared memory and workgroups of the family, limits no larger than the device's own, which
// kernels still run on: so are its subgroups. The matrix units that `facts` has stood in for become the family's.
void TakeFor(GpuFamily family, DeviceFacts& facts);

// Of a GPU with the least limits that Vulkan lets a device have, and same_bits: what decides the order of sums is alike
// on every device then (--same-bits).
void TakeForTheLeast(DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
