// DeviceContext: a VkDevice, its functions and its plan; shared by everything that lives on the device, so that a
// buffer may outlive the Device object.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/vulkan/device/api/instance.h"
#include "backend/vulkan/device/api/vk_status.h"
#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {

// A part of a VkDeviceMemory of the host's allocator.
struct HostMemory {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset_bytes = 0;
  void* mapped = nullptr;      // of the part
  void* allocation = nullptr;  // the host's own
};
struct HostMemoryRequest {
  VkMemoryRequirements requirements = {};
  uint32_t type = 0;
  bool map = false, addresses = false;
};
// Both or none; called by one thread at a time.
struct HostMemoryCalls {
  std::function<VkResult(const HostMemoryRequest&, HostMemory&)> allocate;
  std::function<void(const HostMemory&)> free;
};

struct HostQueue {
  VkQueue queue = VK_NULL_HANDLE;
  // Called around each submission; both null: the host uses the queue nowhere else.
  void (*lock)(void*) = nullptr;
  void (*unlock)(void*) = nullptr;
  void* user = nullptr;
};

// What a host lends with its device.
struct HostDevice {
  std::vector<HostQueue> queues;  // by QueueFacts::index
  const VkAllocationCallbacks* allocation = nullptr;
  VkPipelineCache pipeline_cache = VK_NULL_HANDLE;  // null: one of our own, kept on disk
  HostMemoryCalls memory = {};                      // empty: the driver's
};

inline VkBufferUsageFlags BufferUsage(const DeviceFacts& facts) {
  return VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
         (facts.buffer_addresses ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
}

class DeviceContext {
 public:
  static Result<std::shared_ptr<DeviceContext>> Create(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                                       DevicePlan plan, const PhysicalSupport& support);
  // A device that the host made and destroys, with what `plan` says enabled on it.
  static Result<std::shared_ptr<DeviceContext>> Adopt(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                                      VkDevice device, DevicePlan plan, const HostDevice& host);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const DeviceTable& vk() const { return vk_; }
  VkDevice handle() const { return handle_; }
  VkPhysicalDevice physical() const { return physical_; }
  const DevicePlan& plan() const { return plan_; }
  const DeviceFacts& facts() const { return plan_.facts; }
  DeviceFacts& mutable_facts() { return plan_.facts; }  // only while the device is being opened
  const Instance& instance() const { return *instance_; }
  std::shared_ptr<const Instance> shared_instance() const { return instance_; }

  const std::optional<HostDevice>& host() const { return host_; }
  const VkAllocationCallbacks* allocation() const { return host_ ? host_->allocation : nullptr; }

  // Null hardware has no queue to wait for, and a host's device is not ours to wait for.
  void WaitIdle();
  // By one of vk()'s functions, of which `what` is the name.
  template <typename Function, typename Info, typename Handle>
  Status Make(Function function, const Info& info, Handle* made, std::string_view what) {
    return Check(function(handle_, &info, allocation(), made), what);
  }
  template <typename Function, typename Handle>
  void Destroy(Function function, Handle handle) const {
    function(handle_, handle, allocation());
  }
  // A buffer that belongs to the families of all queues, and what memory it wants. `chain`: of its create info.
  Status MakeBuffer(uint64_t size_bytes, VkBufferUsageFlags usage, const void* chain, VkBuffer* buffer,
                    VkMemoryRequirements* needs);
  uint64_t AddressOf(VkBuffer buffer) const;  // 0 without addresses
  // Maps a result, and remembers a lost device.
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
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice handle_ = VK_NULL_HANDLE;
  DeviceTable vk_;
  DevicePlan plan_;
  std::optional<HostDevice> host_;
  std::atomic<bool> lost_ = false;
};

}  // namespace VXLA_NAMESPACE::vulkan
