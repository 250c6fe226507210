#include "backend/vulkan/device/open.h"

#include "backend/vulkan/device/vulkan_device.h"
#include "backend/vulkan/lower/custom_call.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/shader/shader_source.h"

namespace VXLA_NAMESPACE::vulkan {

Result<std::unique_ptr<Device>> OpenDevice(int index, const OpenOptions& options) {
  return OpenDeviceWith(index, options, {AssembleShader, MakeLowering, WithCustomKernels});
}

}  // namespace VXLA_NAMESPACE::vulkan
