// Targets: devices that kernels are compiled for and that need not be there.
#pragma once

#include <memory>
#include <string_view>

#include "backend/device.h"
#include "backend/vulkan/device/open.h"

namespace VXLA_NAMESPACE::vulkan {

// What the bundle's generic variant asks for, and no more: Vulkan 1.1 with its smallest limits, but 16 storage buffers
// in a kernel under descriptors (every desktop driver has more), and buffer addresses under addresses. No types but
// the 32-bit ones, no subgroups; division and fma as Vulkan leaves them to drivers. The drivers' faults that are known
// are avoided: the plan runs on all of them.
DeviceFacts GenericFacts(BindingMode mode);
// Pure. "generic", or with what else the kernels may use, as in "generic+f16+subgroups32": i64, f64, f16 (f16's
// conversions, with its rounding, denormals, infinities and NaN), storage16, storage8, fma (of f32, rounded
// once), division (that rounds correctly, and roots), subgroupsN (shuffles in full subgroups of N lanes, a power of two
// from 2 to 128), matricesMxNxK (products of f16 in sums of f32 by a subgroup's matrix units). Facts of equal sets have
// equal names. Else kInvalidArgument.
Result<DeviceFacts> GenericFactsOf(BindingMode mode, std::string_view target);

// A device with these facts that compiles and does nothing else: programs are planned for it, KernelModule gives their
// kernels.
std::unique_ptr<Device> MakeTarget(const DeviceFacts& facts, BindingMode mode, const OpenOptions& options);

}  // namespace VXLA_NAMESPACE::vulkan
