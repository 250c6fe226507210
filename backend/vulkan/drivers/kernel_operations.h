// How large a kernel a driver's compiler takes, and what it does by itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/device_facts.h"
#include "backend/gpu_vendors.h"

namespace VXLA_NAMESPACE::vulkan {

// In scalar operations with all functions inlined (DeviceFacts::kernel_operations), by the driver's name. SwiftShader
// needs half a second for each 500 and crashes on kernels that take it a minute or so; lavapipe needs a sixth of a
// second, more in larger kernels.
inline int64_t KernelOperations(std::string_view driver) {
  const bool on_cpu = driver.find("SwiftShader") != std::string_view::npos || driver == "llvmpipe";
  return on_cpu ? 1 << 12 : 1 << 15;
}

// Whether it issues loads early, so that registers and waits are no fewer where the text does: so AMD's of Mesa.
inline bool MovesLoads(const DeviceFacts& facts) { return facts.vendor_id == kAmd; }

}  // namespace VXLA_NAMESPACE::vulkan
