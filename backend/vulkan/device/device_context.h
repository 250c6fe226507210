// DeviceContext: a VkDevice, its functions and its plan; shared by everything that lives on the device, so that a
// buffer may outlive the Device object.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backend/vulkan/device/device_plan.h"
#include "backend/vulkan/device/instance.h"
#include "backend/vulkan/device/vk_status.h"

namespace VXLA_NAMESPACE::vulkan {

class DeviceContext {
 public:
  static Result<std::shared_ptr<DeviceContext>> Create(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                                       DevicePlan plan, const PhysicalSupport& support);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const DeviceTable& vk() const { return vk_; }
  VkDevice handle() const { return handle_; }
  const DevicePlan& plan() const { return plan_; }
  const DeviceFacts& facts() const { return plan_.facts; }
  DeviceFacts& mutable_facts() { return plan_.facts; }  // only while the device is being opened
  const Instance& instance() const { return *instance_; }
  std::shared_ptr<const Instance> shared_instance() const { return instance_; }

  // Maps a result, and remembers a lost device.
  // Null hardware has no queue to wait for.
  void WaitIdle();
  Status Check(VkResult result, std::string_view what);
  // Not OK once the device was lost: nothing that it still says can be trusted.
  Status Alive() const;
  void MarkLost() { lost_.store(true, std::memory_order_relaxed); }

  template <typename Handle>
  void Name(VkObjectType type, Handle handle, const std::string& name) {
    if (vk_.SetDebugUtilsObjectNameEXT != nullptr) SetName(type, reinterpret_cast<uint64_t>(handle), name);
  }

 private:
  DeviceContext() = default;
  void SetName(VkObjectType type, uint64_t handle, const std::string& name);

  std::shared_ptr<Instance> instance_;
  VkDevice handle_ = VK_NULL_HANDLE;
  DeviceTable vk_;
  DevicePlan plan_;
  std::atomic<bool> lost_ = false;
};

}  // namespace VXLA_NAMESPACE::vulkan
