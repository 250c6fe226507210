// What a driver's compiler made of a pipeline: VK_KHR_pipeline_executable_properties.
#pragma once

#include <vector>

#include "backend/device.h"
#include "backend/vulkan/device/handles/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

// Statistics and texts of the pipeline's executables; of a device that captures them (DevicePlan).
Result<std::vector<KernelExecutable>> ExecutablesOf(DeviceContext& context, VkPipeline pipeline);

}  // namespace VXLA_NAMESPACE::vulkan
