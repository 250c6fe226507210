#include "backend/vulkan/device/commands/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kStagingBytes = int64_t{8} << 20;

}  // namespace

Status Transfer::Prepare(Slots& slots, MemoryKind kind) {
  for (Slot& slot : slots) {
    if (slot.commands != nullptr) continue;
    VXLA_ASSIGN_OR_RETURN(slot.staging, allocator_->Allocate(kStagingBytes, kind));
    VXLA_ASSIGN_OR_RETURN(slot.commands, VulkanCommandBuffer::Create(context_, 0, queue_));
  }
  return OkStatus();
}

Status Transfer::Start(Slot& slot, const Moment& after, const std::function<void(VulkanCommandBuffer&)>& record) {
  VXLA_RETURN_IF_ERROR(slot.commands->Begin());
  record(*slot.commands);
  VXLA_RETURN_IF_ERROR(slot.commands->End());
  VXLA_ASSIGN_OR_RETURN(slot.finished, queues_.Submit(queue_, slot.commands->handle(), after));
  return OkStatus();
}

Status Transfer::Finish(Slot& slot) {
  if (slot.finished.value == 0) return OkStatus();
  return queues_.Wait(std::exchange(slot.finished, {}));
}

Status Transfer::Upload(std::span<const std::byte> source, VulkanBuffer& target, int64_t offset_bytes) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  const int64_t total = static_cast<int64_t>(source.size());
  VXLA_RETURN_IF_ERROR(CheckRange("upload", {&target, offset_bytes, total}));
  if (source.empty()) return OkStatus();
  if (std::byte* mapped = target.mapped(); mapped != nullptr) {
    std::memcpy(mapped + offset_bytes, source.data(), source.size());
    return OkStatus();
  }
  std::lock_guard lock(upload_mutex_);
  VXLA_RETURN_IF_ERROR(Prepare(uploads_, MemoryKind::kUpload));
  int which = 0;
  for (int64_t done = 0; done < total; which ^= 1) {
    Slot& slot = uploads_[which];
    VXLA_RETURN_IF_ERROR(Finish(slot));
    const int64_t size = std::min(kStagingBytes, total - done);
    std::memcpy(slot.staging->mapped(), source.data() + done, static_cast<size_t>(size));
    VXLA_RETURN_IF_ERROR(Start(slot, {}, [&](VulkanCommandBuffer& commands) {
      commands.Copy({slot.staging.get(), 0, size}, {&target, offset_bytes + done, size});
    }));
    done += size;
  }
  const uint64_t last = std::max(uploads_[0].finished.value, uploads_[1].finished.value);
  VXLA_RETURN_IF_ERROR(Finish(uploads_[0]));
  VXLA_RETURN_IF_ERROR(Finish(uploads_[1]));
  written_ = last;
  return OkStatus();
}

Status Transfer::Download(VulkanBuffer& source, int64_t offset_bytes, std::span<std::byte> target,
                          const Moment& after) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  const int64_t total = static_cast<int64_t>(target.size());
  VXLA_RETURN_IF_ERROR(CheckRange("download", {&source, offset_bytes, total}));
  if (target.empty()) return OkStatus();
  const MemoryChoice& readback = context_->plan().memory[static_cast<int>(MemoryKind::kReadback)];
  if (HostReadsDirectly(source.memory(), readback, target.size())) {
    VXLA_RETURN_IF_ERROR(queues_.Wait(after));
    std::memcpy(target.data(), source.mapped() + offset_bytes, target.size());
    return OkStatus();
  }
  std::lock_guard lock(download_mutex_);
  VXLA_RETURN_IF_ERROR(Prepare(downloads_, MemoryKind::kReadback));
  auto take = [&](Slot& slot) -> Status {
    if (slot.finished.value == 0) return OkStatus();
    VXLA_RETURN_IF_ERROR(Finish(slot));
    std::memcpy(target.data() + slot.offset_bytes, slot.staging->mapped(), static_cast<size_t>(slot.size_bytes));
    return OkStatus();
  };
  int which = 0;
  for (int64_t done = 0; done < total; which ^= 1) {
    Slot& slot = downloads_[which];
    VXLA_RETURN_IF_ERROR(take(slot));
    slot.offset_bytes = done;
    slot.size_bytes = std::min(kStagingBytes, total - done);
    VXLA_RETURN_IF_ERROR(Start(slot, after, [&](VulkanCommandBuffer& commands) {
      commands.Copy({&source, offset_bytes + done, slot.size_bytes}, {slot.staging.get(), 0, slot.size_bytes});
    }));
    done += slot.size_bytes;
  }
  VXLA_RETURN_IF_ERROR(take(downloads_[which]));
  return take(downloads_[which ^ 1]);
}

Status Transfer::Fill(VulkanBuffer& target, uint32_t word) {
  if (std::byte* mapped = target.mapped(); mapped != nullptr) {
    auto* words = reinterpret_cast<uint32_t*>(mapped);
    std::fill_n(words, target.reserved_bytes() / 4, word);
    return OkStatus();
  }
  std::lock_guard lock(upload_mutex_);
  VXLA_RETURN_IF_ERROR(Prepare(uploads_, MemoryKind::kUpload));
  Slot& slot = uploads_[0];
  VXLA_RETURN_IF_ERROR(Finish(slot));
  VXLA_RETURN_IF_ERROR(Start(slot, {}, [&](VulkanCommandBuffer& commands) {
    commands.Fill({&target, 0, target.size_bytes()}, word);
  }));
  const uint64_t last = slot.finished.value;
  VXLA_RETURN_IF_ERROR(Finish(slot));
  written_ = last;
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
