// How large a kernel a driver's compiler takes.
#pragma once

#include <cstdint>
#include <string_view>

namespace vxla::vulkan {

// In scalar operations with all functions inlined (DeviceFacts::kernel_operations), by the driver's name. SwiftShader
// needs half a second for each 500 and crashes on kernels that take it a minute or so; lavapipe a sixth of that.
inline int64_t KernelOperations(std::string_view driver) {
  return driver.find("SwiftShader") != std::string_view::npos ? 1 << 12 : 1 << 15;
}

}  // namespace vxla::vulkan
