// Transfers that the host has a part in: between a device's memory and the host's, or two devices.
#pragma once

#include <functional>
#include <memory>

#include "scheduler/runtime/buffer.h"
#include "scheduler/runtime/memory/buffer_pool.h"

namespace VXLA_NAMESPACE {

inline MemoryKind KindOf(BufferMemory memory) {
  return memory == BufferMemory::kDevice ? MemoryKind::kDevice : MemoryKind::kReadback;
}

// A copy of so few bytes is made by the caller itself: handing it to another thread costs as much.
constexpr int64_t kFewBytes = int64_t{64} << 10;

// Does the work once `after` has happened: at once, if it has and there are few bytes, else on the pool's thread for
// transfers. The event: the work is done, or its error, or that of `after`. What the work holds goes before.
Event WhenReady(const std::shared_ptr<BufferPool>& pool, const Event& after, int64_t bytes,
                std::function<Status()> work);

// The first bytes of a memory whose contents are ready.
Status DownloadBytes(const DeviceMemory& source, std::span<std::byte> target);

// The first bytes of a memory, in memory of a pool of the same or of another device; `hold` keeps the source.
Result<std::shared_ptr<DeviceMemory>> CopyMemory(const std::shared_ptr<DeviceMemory>& source, int64_t bytes,
                                                 const std::shared_ptr<BufferPool>& pool, MemoryKind kind,
                                                 const std::shared_ptr<const void>& hold);

}  // namespace VXLA_NAMESPACE
