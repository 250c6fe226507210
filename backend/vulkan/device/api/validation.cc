#include "backend/vulkan/device/api/validation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr size_t kMostMessages = 1000;  // a loop that errs in each dispatch must not fill the memory

// Warnings that tell of a wrong program. GPU-assisted checks report an address out of bounds as a warning on some
// drivers.
constexpr std::array<std::string_view, 4> kFatalWarnings = {
    "UNASSIGNED-Device address out of bounds",
    "UNASSIGNED-Descriptor index out of bounds",
    "UNASSIGNED-Descriptor uninitialized",
    "UNASSIGNED-CoreValidation-Shader-InterfaceTypeMismatch",
};

// GPU-assisted checks give some findings no id of their own; their texts are known.
constexpr std::array<std::string_view, 2> kFatalTexts = {"access out of bounds", "Out of bounds access"};

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  const char* id = data->pMessageIdName == nullptr ? "" : data->pMessageIdName;
  const char* text = data->pMessage == nullptr ? "" : data->pMessage;
  if (IsValidationFinding(severity, id, text)) static_cast<ValidationLog*>(user)->Add(fmt::format("{}: {}", id, text));
  return VK_FALSE;
}

}  // namespace

bool IsValidationFinding(VkDebugUtilsMessageSeverityFlagBitsEXT severity, const char* id, const char* text) {
  if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) return true;
  if (severity < VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) return false;
  if (std::find(kFatalWarnings.begin(), kFatalWarnings.end(), std::string_view(id)) != kFatalWarnings.end())
    return true;
  const std::string_view words(text);
  return std::any_of(kFatalTexts.begin(), kFatalTexts.end(),
                     [&](std::string_view part) { return words.find(part) != std::string_view::npos; });
}

void ValidationLog::Add(std::string message) {
  std::lock_guard lock(mutex_);
  if (messages_.size() < kMostMessages) messages_.push_back(std::move(message));
}

std::vector<std::string> ValidationLog::messages() const {
  std::lock_guard lock(mutex_);
  return messages_;
}

VkDebugUtilsMessengerCreateInfoEXT ValidationLog::MessengerInfo() {
  VkDebugUtilsMessengerCreateInfoEXT info = {};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  // General messages are the loader's and the drivers' own: what fails there comes back as a VkResult.
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = OnMessage;
  info.pUserData = this;
  return info;
}

}  // namespace VXLA_NAMESPACE::vulkan
