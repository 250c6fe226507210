// What the validation layers say: errors, and the warnings that mean a wrong program.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "backend/vulkan/device/api/vk.h"

namespace VXLA_NAMESPACE::vulkan {

struct ValidationWants {
  bool core = false, sync = false, gpu = false;
  bool any() const { return core || sync || gpu; }
};

// True for messages that must fail a validation run. Pure.
bool IsValidationFinding(VkDebugUtilsMessageSeverityFlagBitsEXT severity, const char* id, const char* text);

// Thread-safe; lives at least as long as the instance that reports to it.
class ValidationLog {
 public:
  void Add(std::string message);
  std::vector<std::string> messages() const;
  // Creates what vkCreateDebugUtilsMessengerEXT wants, reporting to this log.
  VkDebugUtilsMessengerCreateInfoEXT MessengerInfo();

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

}  // namespace VXLA_NAMESPACE::vulkan
