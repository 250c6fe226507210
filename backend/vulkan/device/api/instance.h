// A VkInstance with its function table, and the physical devices it sees.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/vulkan/device/api/functions.h"
#include "backend/vulkan/device/api/validation.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

struct InstanceOptions {
  ValidationWants validation;
  std::string loader_path;
};

class Instance {
 public:
  // kDeviceFailure without a loader, without a driver, or without the validation layer that was asked for.
  static Result<std::shared_ptr<Instance>> Create(const InstanceOptions& options);
  // One instance per process for plain use: making one loads every driver on the machine (15 to 120 ms). A failure is
  // not kept.
  static Result<std::shared_ptr<Instance>> Shared();
  // The host's own, which it keeps for as long as this lives.
  static Result<std::shared_ptr<Instance>> Adopt(VkInstance handle, PFN_vkGetInstanceProcAddr get);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceTable& vk() const { return vk_; }
  Result<std::vector<VkPhysicalDevice>> PhysicalDevices() const;
  bool validates_gpu() const { return validates_gpu_; }
  std::vector<std::string> validation_messages() const { return log_.messages(); }

 private:
  Instance() = default;
  Status Make(const GlobalTable& global, const InstanceOptions& options);
  VkResult TryCreate(const GlobalTable& global, const InstanceOptions& options, uint32_t api_version,
                     const std::vector<const char*>& extensions);

  VkInstance handle_ = VK_NULL_HANDLE;
  bool adopted_ = false;
  InstanceTable vk_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  bool validates_gpu_ = false;
  ValidationLog log_;
};

}  // namespace VXLA_NAMESPACE::vulkan
