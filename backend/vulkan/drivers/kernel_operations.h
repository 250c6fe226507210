// How large a kernel a driver's compiler takes.
#pragma once

#include <cstdint>
#include <string_view>

namespace VXLA_NAMESPACE::vulkan {

// In scalar operations with all functions inlined (DeviceFacts::kernel_operations), by the driver's name. SwiftShader
// needs half a second for each 500 and crashes on kernels that take it a minute or so; lavapipe needs a sixth of a
// second, more in larger kernels.
inline int64_t KernelOperations(std::string_view driver) {
  const bool on_cpu = driver.find("SwiftShader") != std::string_view::npos || driver == "llvmpipe";
  return on_cpu ? 1 << 12 : 1 << 15;
}

}  // namespace VXLA_NAMESPACE::vulkan
