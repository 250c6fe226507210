// A device that the host made: what it is asked to enable on it, how vxla comes to live there, and the host's buffers
// and command buffers as the scheduler takes them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/vulkan/device/commands/command_buffer.h"
#include "backend/vulkan/device/commands/queue.h"
#include "backend/vulkan/device/handles/device_context.h"
#include "backend/vulkan/device/memory/memory_allocator.h"
#include "backend/vulkan/device/open.h"
#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE::vulkan {

struct AdoptedDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  uint32_t api_version = 0;  // what the instance was made for
  // What is enabled; the device may support more, which is not used.
  const VkPhysicalDeviceFeatures2* features = nullptr;
  std::span<const char* const> extensions;
  std::vector<LentQueue> queues;  // as many as host.queues
  HostDevice host;
};

// Asked before there is a device. kUnsupported with what the physical device lacks.
Result<DeviceRequirements> QueryRequirements(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                             VkPhysicalDevice physical, uint32_t api_version);

// kInvalidArgument: a handle is null, a queue twice, what PlanLentQueues refuses. kUnsupported: a feature that is
// needed is not enabled.
Result<std::unique_ptr<Device>> AdoptDevice(const AdoptedDevice& adopted, const OpenOptions& options,
                                            const DeviceHooks& hooks);

// A part of a host's buffer.
struct HostRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset_bytes = 0, size_bytes = 0;
  uint64_t address = 0;  // of the range
  friend bool operator==(const HostRange&, const HostRange&) = default;
};
// An address that is 0 is asked of Vulkan.
HostRange WithAddress(Device& device, const HostRange& range);
// The bytes that Vulkan wants for a buffer's memory: its size, rounded up as the driver likes.
uint64_t MemorySizeOf(Device& device, VkBuffer buffer);
std::unique_ptr<VulkanBuffer> WrapBuffer(const HostRange& range);
// Where a buffer of vxla's lies.
HostRange RangeOf(const Buffer& buffer);
// Orders work of the device with the host's: Queues::Submit of nothing.
Result<TimePoint> Link(Device& device, const Moment& after, const HostSemaphore* wait, const HostSemaphore* signal);
// Records into what Attach names.
std::unique_ptr<VulkanCommandBuffer> WrapCommands(Device& device);
// Behind all that the queue was given before it, into the host's pool.
void WriteTimestamp(Device& device, VkCommandBuffer commands, VkQueryPool pool, uint32_t query);

// Whether the device has finished with what was recorded last: an event of Vulkan's behind it.
class FinishMark {
 public:
  static Result<std::unique_ptr<FinishMark>> Create(Device& device);
  ~FinishMark();
  FinishMark(const FinishMark&) = delete;

  // Not while it is pending.
  Status Record(VkCommandBuffer commands);
  // Something was recorded, and the device has not come to its end: what was never submitted, too.
  bool IsPending() const;

 private:
  explicit FinishMark(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}

  std::shared_ptr<DeviceContext> context_;
  VkEvent event_ = VK_NULL_HANDLE;
  bool recorded_ = false;
};

}  // namespace VXLA_NAMESPACE::vulkan
