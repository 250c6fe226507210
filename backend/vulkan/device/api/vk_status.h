// VkResult as a Status, mapped in one place.
#pragma once

#include <string>
#include <string_view>

#include "backend/vulkan/device/api/vk.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

const char* ResultName(VkResult result);

// OK for VK_SUCCESS; else "<what>: VK_ERROR_..." with kResourceExhausted for memory and kDeviceFailure for the rest.
Status VkStatus(VkResult result, std::string_view what);

}  // namespace VXLA_NAMESPACE::vulkan

#define VXLA_RETURN_IF_VK_ERROR(expression, what) VXLA_RETURN_IF_ERROR(::vxla::vulkan::VkStatus((expression), (what)))
