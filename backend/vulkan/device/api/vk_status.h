// VkResult as a Status, mapped in one place.
#pragma once

#include <string_view>
#include <vector>

#include "backend/vulkan/device/api/vk.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

const char* ResultName(VkResult result);

// OK for VK_SUCCESS; else "<what>: VK_ERROR_..." with kResourceExhausted for memory and kDeviceFailure for the rest.
Status VkStatus(VkResult result, std::string_view what);

}  // namespace VXLA_NAMESPACE::vulkan

#define VXLA_RETURN_IF_VK_ERROR(expression, what) VXLA_RETURN_IF_ERROR(::vxla::vulkan::VkStatus((expression), (what)))

namespace VXLA_NAMESPACE::vulkan {

// What Vulkan lists in two calls, get(&count, items): how many there are, then what they are.
template <typename T, typename Get>
Result<std::vector<T>> ListOf(std::string_view what, const Get& get, const T& empty = {}) {
  uint32_t count = 0;
  VXLA_RETURN_IF_VK_ERROR(get(&count, nullptr), what);
  std::vector<T> list(count, empty);
  if (const VkResult result = get(&count, list.data()); result != VK_INCOMPLETE) VXLA_RETURN_IF_VK_ERROR(result, what);
  list.resize(count);
  return list;
}

}  // namespace VXLA_NAMESPACE::vulkan
