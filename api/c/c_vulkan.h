// What the functions of vxla_vulkan.h share: semaphores, values in the host's memory and the rules for it.
#pragma once

#include "api/c/c_handles.h"
#include "backend/vulkan/device/adopt.h"
#include "include/vxla/vxla_vulkan.h"
#include "scheduler/runtime/memory/buffer_pool.h"

namespace VXLA_NAMESPACE {

// What a range of the host's memory must be.
struct BindingRules {
  int64_t size_bytes = 0;
  uint64_t alignment = 0;
  VkBufferUsageFlags usage = 0;
};
// Of a value of that shape.
BindingRules RulesOf(const Device& device, const Shape& shape);
VkBufferUsageFlags ImportUsage(const Device& device);

vulkan::HostSemaphore PointOf(const VxlaSemaphore& semaphore);
// The value of the device's timeline that is reached after the semaphore; 0 for NULL.
Result<Moment> ReadyAfter(Device& device, const VxlaSemaphore* wait);
// kInvalidArgument: no value, or it was donated.
Result<DeviceMemory*> MemoryOf(VxlaValue value);
// kInvalidArgument: of a run's arguments, leaf by leaf, one that the program takes as a donation lies over another one.
Status CheckDonationsApart(const Executable& program, std::span<const Argument> arguments);

}  // namespace VXLA_NAMESPACE
