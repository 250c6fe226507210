#include "backend/vulkan/device/adopt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/vulkan/device/commands/synchronization.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Before anything is asked of it: an older instance has not the functions of 1.1.
Status CheckInstance(uint32_t api_version) {
  if (api_version >= VK_API_VERSION_1_1) return OkStatus();
  const uint32_t asked = std::max(api_version, VK_API_VERSION_1_0);  // 0 is 1.0
  return Unsupported("the host's instance: Vulkan {}.{} is older than 1.1 (VkApplicationInfo::apiVersion)",
                     VK_API_VERSION_MAJOR(asked), VK_API_VERSION_MINOR(asked));
}

Status CheckQueue(std::span<const HostQueue> queues, size_t index) {
  const HostQueue& queue = queues[index];
  const std::string name = index == 0 ? "the queue" : fmt::format("queue {}", index);
  if (queue.queue == VK_NULL_HANDLE) return InvalidArgument("adopting a device: {}: NULL", name);
  if ((queue.lock == nullptr) != (queue.unlock == nullptr))
    return InvalidArgument("adopting a device: one of lock and unlock of {} is NULL", name);
  for (size_t i = 0; i < index; ++i) {
    if (queues[i].queue != queue.queue) continue;
    return InvalidArgument("adopting a device: {}: its VkQueue is {}'s, too", name,
                           i == 0 ? "the first one" : fmt::format("queue {}", i));
  }
  return OkStatus();
}

Status CheckHandles(const AdoptedDevice& adopted) {
  const std::pair<bool, const char*> given[] = {{adopted.get_instance_proc_addr != nullptr, "vkGetInstanceProcAddr"},
                                                {adopted.instance != VK_NULL_HANDLE, "the instance"},
                                                {adopted.physical != VK_NULL_HANDLE, "the physical device"},
                                                {adopted.device != VK_NULL_HANDLE, "the device"},
                                                {adopted.features != nullptr, "the enabled features"}};
  for (const auto& [there, name] : given) {
    if (!there) return InvalidArgument("adopting a device: {}: NULL", name);
  }
  for (size_t i = 0; i < adopted.host.queues.size(); ++i) VXLA_RETURN_IF_ERROR(CheckQueue(adopted.host.queues, i));
  const VkAllocationCallbacks* calls = adopted.host.allocation;
  if (calls != nullptr &&
      (calls->pfnAllocation == nullptr || calls->pfnReallocation == nullptr || calls->pfnFree == nullptr))
    return InvalidArgument("adopting a device: one of the functions of VkAllocationCallbacks is NULL");
  return OkStatus();
}

}  // namespace

Result<DeviceRequirements> QueryRequirements(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                             VkPhysicalDevice physical, uint32_t api_version) {
  VXLA_RETURN_IF_ERROR(CheckInstance(api_version));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Instance> adopted, Instance::Adopt(instance, get));
  VXLA_ASSIGN_OR_RETURN(const PhysicalSupport support, QuerySupport(adopted->vk(), physical, api_version));
  return RequirementsOf(support);
}

Result<std::unique_ptr<Device>> AdoptDevice(const AdoptedDevice& adopted, const OpenOptions& options,
                                            const DeviceHooks& hooks) {
  VXLA_RETURN_IF_ERROR(CheckHandles(adopted));
  VXLA_RETURN_IF_ERROR(CheckInstance(adopted.api_version));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Instance> instance,
                        Instance::Adopt(adopted.instance, adopted.get_instance_proc_addr));
  VXLA_ASSIGN_OR_RETURN(PhysicalSupport support, QuerySupport(instance->vk(), adopted.physical, adopted.api_version));
  support.features = FeatureChain::Of(*adopted.features);
  support.extensions = {adopted.extensions.begin(), adopted.extensions.end()};
  PlanWants wants;
  wants.lent_queues = adopted.queues;
  wants.emulate = options.emulate;
  wants.push_descriptors = true;
  wants.bindings = options.bindings.value_or(support.features.vulkan12.bufferDeviceAddress ? BindingMode::kAddresses
                                                                                           : BindingMode::kDescriptors);
  VXLA_ASSIGN_OR_RETURN(DevicePlan plan, PlanDevice(support, wants));
  VXLA_RETURN_IF_ERROR(CheckRuns(plan.facts));
  std::vector<BindingMode> modes = BindingModesFor(plan.facts, options);
  VXLA_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceContext> context,
      DeviceContext::Adopt(instance, adopted.physical, adopted.device, std::move(plan), adopted.host));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<VulkanDevice> device,
                        VulkanDevice::Create(std::move(context), std::move(modes), options, hooks));
  return std::unique_ptr<Device>(std::move(device));
}

bool IsIdle(Device& device) { return static_cast<VulkanDevice&>(device).queues().IsIdle(); }

HostRange WithAddress(Device& device, const HostRange& range) {
  DeviceContext& context = static_cast<VulkanDevice&>(device).context();
  if (range.address != 0 || range.buffer == VK_NULL_HANDLE) return range;
  HostRange addressed = range;
  addressed.address = context.AddressOf(range.buffer) + range.offset_bytes;
  return addressed;
}

uint64_t MemorySizeOf(Device& device, VkBuffer buffer) {
  DeviceContext& context = static_cast<VulkanDevice&>(device).context();
  VkMemoryRequirements needs = {};
  context.vk().GetBufferMemoryRequirements(context.handle(), buffer, &needs);
  return needs.size;
}

std::unique_ptr<VulkanBuffer> WrapBuffer(const HostRange& range) {
  auto buffer = std::make_unique<VulkanBuffer>();
  buffer->Retarget(range.buffer, static_cast<int64_t>(range.offset_bytes), static_cast<int64_t>(range.size_bytes),
                   range.address);
  return buffer;
}

HostRange RangeOf(const Buffer& buffer) {
  const auto& range = static_cast<const VulkanBuffer&>(buffer);
  return {range.handle(), static_cast<uint64_t>(range.offset_bytes()), static_cast<uint64_t>(range.size_bytes()),
          range.device_address()};
}

Result<TimePoint> Link(Device& device, const Moment& after, const HostSemaphore* wait, const HostSemaphore* signal) {
  return static_cast<VulkanDevice&>(device).queues().Submit(0, VK_NULL_HANDLE, after, AtMostOne(wait),
                                                            AtMostOne(signal));
}

Result<std::unique_ptr<FinishMark>> FinishMark::Create(Device& device) {
  std::unique_ptr<FinishMark> mark(new FinishMark(static_cast<VulkanDevice&>(device).shared_context()));
  DeviceContext& context = *mark->context_;
  const DeviceTable& vk = context.vk();
  if (!vk.CreateEvent || !vk.DestroyEvent || !vk.GetEventStatus || !vk.ResetEvent || !vk.CmdSetEvent)
    return Unsupported("the device has no functions for events");
  const auto info = MakeVk<VkEventCreateInfo>(VK_STRUCTURE_TYPE_EVENT_CREATE_INFO);
  VXLA_RETURN_IF_ERROR(context.Make(vk.CreateEvent, info, &mark->event_, "vkCreateEvent"));
  return mark;
}

FinishMark::~FinishMark() {
  if (event_ != VK_NULL_HANDLE) context_->Destroy(context_->vk().DestroyEvent, event_);
}

Status FinishMark::Record(VkCommandBuffer commands) {
  VXLA_RETURN_IF_ERROR(context_->Check(context_->vk().ResetEvent(context_->handle(), event_), "vkResetEvent"));
  context_->vk().CmdSetEvent(commands, event_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  recorded_ = true;
  return OkStatus();
}

bool FinishMark::IsPending() const {
  return recorded_ && context_->vk().GetEventStatus(context_->handle(), event_) == VK_EVENT_RESET;
}

std::unique_ptr<VulkanCommandBuffer> WrapCommands(Device& device) {
  return VulkanCommandBuffer::ForHost(static_cast<VulkanDevice&>(device).shared_context());
}

void WriteTimestamp(Device& device, VkCommandBuffer commands, VkQueryPool pool, uint32_t query) {
  WriteTimestamp(static_cast<VulkanDevice&>(device).context(), commands, pool, query);
}

}  // namespace VXLA_NAMESPACE::vulkan
