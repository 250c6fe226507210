// Buffers that queue families own in turn: of the same device, of other devices and APIs.
#pragma once

#include "backend/device.h"
#include "backend/vulkan/device/commands/queue.h"

namespace VXLA_NAMESPACE::vulkan {

enum class Ownership : uint8_t { kRelease, kAcquire };

// Submits one half of a transfer between the queue's family and `other` (one of the device's, or
// VK_QUEUE_FAMILY_EXTERNAL), of a buffer and its contents; the other half is the other side's. It begins once
// `after` has passed and, acquiring, `semaphore` is signalled, which a release signals at its end (null: none). Returns
// what the queue reaches then. kInvalidArgument: no such family, or the queue's own.
Result<TimePoint> TransferOwnership(Device& device, Buffer& buffer, Ownership half, uint32_t other, const Moment& after,
                                    const HostSemaphore* semaphore);

}  // namespace VXLA_NAMESPACE::vulkan
