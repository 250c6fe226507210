#include "backend/vulkan/device/handles/device_context.h"

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Of features that are enabled.
Status CheckFunctions(const DeviceTable& vk, const DevicePlan& plan) {
  const std::pair<bool, const char*> needed[] = {
      {plan.facts.buffer_addresses && vk.GetBufferDeviceAddress == nullptr, "vkGetBufferDeviceAddress"},
      {plan.synchronization2 && vk.CmdPipelineBarrier2 == nullptr, "vkCmdPipelineBarrier2"},
      {plan.synchronization2 && vk.CmdWriteTimestamp2 == nullptr, "vkCmdWriteTimestamp2"},
      {plan.synchronization2 && vk.QueueSubmit2 == nullptr, "vkQueueSubmit2"}};
  for (const auto& [lacks, name] : needed) {
    if (lacks) return DeviceFailure("the Vulkan device lacks {}", name);
  }
  return OkStatus();
}

}  // namespace

Result<std::shared_ptr<DeviceContext>> DeviceContext::Create(std::shared_ptr<Instance> instance,
                                                             VkPhysicalDevice physical, DevicePlan plan,
                                                             const PhysicalSupport& support) {
  std::shared_ptr<DeviceContext> context(new DeviceContext());
  context->instance_ = std::move(instance);
  context->physical_ = physical;
  context->plan_ = std::move(plan);
  DevicePlan& chosen = context->plan_;
  const std::vector<float> priorities(kMostQueues, 1.0f);
  std::vector<VkDeviceQueueCreateInfo> queues;
  for (const uint32_t family : chosen.queue_families) {
    auto& queue = queues.emplace_back(MakeVk<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO));
    queue.queueFamilyIndex = family;
    for (const QueueFacts& opened : chosen.facts.queues) {
      if (opened.family == family) queue.queueCount = std::max(queue.queueCount, opened.index + 1);
    }
    queue.pQueuePriorities = priorities.data();
  }
  auto info = MakeVk<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = chosen.features.Link(support.properties.apiVersion, support.extensions);
  info.queueCreateInfoCount = static_cast<uint32_t>(queues.size());
  info.pQueueCreateInfos = queues.data();
  info.ppEnabledExtensionNames = chosen.extensions.data();
  info.enabledExtensionCount = static_cast<uint32_t>(chosen.extensions.size());
  const InstanceTable& vk = context->instance_->vk();
  VXLA_RETURN_IF_VK_ERROR(vk.CreateDevice(physical, &info, nullptr, &context->handle_),
                          fmt::format("vkCreateDevice on {}", chosen.facts.name));
  auto table = LoadDeviceTable(vk.GetDeviceProcAddr, context->handle_);
  if (table.ok()) {
    if (Status whole = CheckFunctions(*table, chosen); !whole.ok()) table = std::move(whole);
  }
  if (!table.ok()) {
    auto destroy = reinterpret_cast<PFN_vkDestroyDevice>(vk.GetDeviceProcAddr(context->handle_, "vkDestroyDevice"));
    if (destroy != nullptr) destroy(context->handle_, nullptr);
    context->handle_ = VK_NULL_HANDLE;
    return table.status();
  }
  context->vk_ = *table;
  return context;
}

Result<std::shared_ptr<DeviceContext>> DeviceContext::Adopt(std::shared_ptr<Instance> instance,
                                                            VkPhysicalDevice physical, VkDevice device, DevicePlan plan,
                                                            const HostDevice& host) {
  std::shared_ptr<DeviceContext> context(new DeviceContext());
  context->instance_ = std::move(instance);
  context->physical_ = physical;
  context->handle_ = device;
  context->plan_ = std::move(plan);
  context->host_ = host;
  VXLA_ASSIGN_OR_RETURN(context->vk_, LoadDeviceTable(context->instance_->vk().GetDeviceProcAddr, device));
  VXLA_RETURN_IF_ERROR(CheckFunctions(context->vk_, context->plan_));
  return context;
}

DeviceContext::~DeviceContext() {
  if (handle_ == VK_NULL_HANDLE || host_) return;
  WaitIdle();
  vk_.DestroyDevice(handle_, nullptr);
}

void DeviceContext::WaitIdle() {
  if (!facts().compile_only && !host_) vk_.DeviceWaitIdle(handle_);
}

Status DeviceContext::MakeBuffer(uint64_t size_bytes, VkBufferUsageFlags usage, const void* chain, VkBuffer* buffer,
                                 VkMemoryRequirements* needs) {
  auto info = MakeVk<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.pNext = chain;
  info.size = size_bytes;
  info.usage = usage;
  if (plan_.queue_families.size() > 1) {
    info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    info.queueFamilyIndexCount = static_cast<uint32_t>(plan_.queue_families.size());
    info.pQueueFamilyIndices = plan_.queue_families.data();
  }
  VXLA_RETURN_IF_ERROR(Make(vk_.CreateBuffer, info, buffer, "vkCreateBuffer"));
  vk_.GetBufferMemoryRequirements(handle_, *buffer, needs);
  return OkStatus();
}

uint64_t DeviceContext::AddressOf(VkBuffer buffer) const {
  if (!facts().buffer_addresses) return 0;
  auto info = MakeVk<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
  info.buffer = buffer;
  return vk_.GetBufferDeviceAddress(handle_, &info);
}

Status DeviceContext::Check(VkResult result, std::string_view what) {
  if (result != VK_ERROR_DEVICE_LOST) return VkStatus(result, what);
  MarkLost();
  return DeviceFailure("{}; open it again",
                       VkStatus(result, fmt::format("device {} was lost: {}", plan_.facts.name, what)).message());
}

Status DeviceContext::Alive() const {
  if (!lost_.load(std::memory_order_relaxed)) return OkStatus();
  return DeviceFailure("device {} was lost; open it again", plan_.facts.name);
}

void DeviceContext::SetName(VkObjectType type, uint64_t handle, const std::string& name) {
  auto info = MakeVk<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  info.objectType = type;
  info.objectHandle = handle;
  info.pObjectName = name.c_str();
  vk_.SetDebugUtilsObjectNameEXT(handle_, &info);
}

}  // namespace VXLA_NAMESPACE::vulkan
