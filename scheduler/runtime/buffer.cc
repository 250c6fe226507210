#include "scheduler/runtime/buffer.h"

#include <utility>

#include "core/host/guarded.h"
#include "core/host/ranges.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "scheduler/runtime/memory/host_array.h"
#include "scheduler/runtime/memory/live_values.h"
#include "scheduler/runtime/memory/transfers.h"

namespace VXLA_NAMESPACE {

DeviceBuffer::DeviceBuffer(Shape shape, std::shared_ptr<DeviceMemory> memory, std::vector<int64_t> live_sizes)
    : shape_(std::move(shape)), memory_(std::move(memory)), live_sizes_(std::move(live_sizes)) {}

BufferMemory DeviceBuffer::memory_kind() const {
  return memory_ != nullptr && memory_->kind() == KindOf(BufferMemory::kPinnedHost) ? BufferMemory::kPinnedHost
                                                                                    : BufferMemory::kDevice;
}

Event DeviceBuffer::ready() const { return memory_ == nullptr ? Event() : memory_->ready(); }

Status DeviceBuffer::IsGone() const {
  if (memory_ == nullptr)
    return InvalidArgument("a device value of {} that holds nothing cannot be downloaded", shape_.ToString());
  if (memory_->donated())
    return InvalidArgument("the {} has been donated to a run; its memory is another value's", shape_.ToString());
  return InvalidArgument("the {} has been deleted", shape_.ToString());
}

std::shared_ptr<const void> DeviceBuffer::Hold() const {
  if (memory_ == nullptr || !memory_->Pin()) return nullptr;
  return {memory_.get(), [memory = memory_](const void*) { memory->Unpin(); }};
}

Result<Literal> DeviceBuffer::ToLiteral() const {
  return Guarded([&]() -> Result<Literal> {
    // Before the wait, too: what is written may need the caller first.
    if (memory_ == nullptr || memory_->is_gone()) return IsGone();
    VXLA_RETURN_IF_ERROR(Wait());
    const auto hold = Hold();
    if (hold == nullptr) return IsGone();
    VXLA_ASSIGN_OR_RETURN(const Moment after, ready().AwaitSubmission());
    return DownloadLiteral(memory_->device(), shape_, memory_->buffer(), 0, after, live_sizes_,
                           memory_->size_messages());
  });
}

Status DeviceBuffer::Download(std::span<std::byte> target) const {
  if (shape_.IsDynamic()) VXLA_RETURN_IF_ERROR(LiveSizes().status());
  return DownloadBytes(*memory_, target);
}

Status DeviceBuffer::CheckSize(size_t bytes) const {
  if (static_cast<int64_t>(bytes) == shape_.SizeBytes()) return OkStatus();
  return InvalidArgument("{} bytes given for a {} of {}", bytes, shape_.ToString(), shape_.SizeBytes());
}

Event DeviceBuffer::ToHost(std::span<std::byte> target) const {
  const auto hold = Hold();
  if (hold == nullptr) return Event(IsGone());
  if (Status status = CheckSize(target.size()); !status.ok()) return Event(std::move(status));
  return WhenReady(memory_->shared_pool(), ready(), shape_.SizeBytes(),
                   [buffer = *this, hold, target] { return buffer.Download(target); });
}

Event DeviceBuffer::ToHost(std::byte* target, std::span<const int64_t> byte_strides) const {
  if (Status status = CheckStrides(shape_, byte_strides); !status.ok()) return Event(std::move(status));
  if (IsDense(shape_, byte_strides)) return ToHost({target, static_cast<size_t>(shape_.SizeBytes())});
  const auto hold = Hold();
  if (hold == nullptr) return Event(IsGone());
  return WhenReady(memory_->shared_pool(), ready(), shape_.SizeBytes(),
                   [buffer = *this, hold, target,
                    strides = std::vector<int64_t>(byte_strides.begin(), byte_strides.end())]() -> Status {
                     std::vector<std::byte> dense(static_cast<size_t>(buffer.shape().SizeBytes()));
                     VXLA_RETURN_IF_ERROR(buffer.Download(dense));
                     CopyElements(buffer.shape(), dense.data(), {}, target, strides);
                     return OkStatus();
                   });
}

Event DeviceBuffer::Write(std::span<const std::byte> elements) const {
  const auto hold = Hold();
  if (hold == nullptr) return Event(IsGone());
  if (shape_.IsDynamic())
    return Event(InvalidArgument("the {}: elements of known sizes alone are replaced", shape_.ToString()));
  if (Status status = CheckSize(elements.size()); !status.ok()) return Event(std::move(status));
  if (elements.empty()) return Event();
  Event written =
      WhenReady(memory_->shared_pool(), memory_->Unused(), shape_.SizeBytes(),
                [memory = memory_, hold, elements] { return memory->device().Upload(elements, memory->buffer(), 0); });
  memory_->set_ready(written);
  return written;
}

Result<DeviceBuffer> DeviceBuffer::CopyTo(Client& client, BufferMemory kind) const {
  return Guarded([&]() -> Result<DeviceBuffer> {
    const auto hold = Hold();
    if (hold == nullptr) return IsGone();
    VXLA_ASSIGN_OR_RETURN(auto copy, CopyMemory(memory_, DeviceBytes(shape_), client.pool(), KindOf(kind), hold));
    return DeviceBuffer(shape_, std::move(copy), live_sizes_);
  });
}

void DeviceBuffer::Delete() {
  if (memory_ != nullptr) memory_->Delete();
}

bool DeviceBuffer::IsDeleted() const { return memory_ != nullptr && memory_->is_gone(); }

Result<std::vector<int64_t>> DeviceBuffer::LiveSizes() const {
  if (knows_sizes() || !shape_.IsArray()) return live_sizes_;
  if (!shape_.IsDynamic()) return std::vector<int64_t>(shape_.dimensions().begin(), shape_.dimensions().end());
  return Guarded([&]() -> Result<std::vector<int64_t>> {
    if (memory_->is_gone()) return IsGone();
    VXLA_RETURN_IF_ERROR(Wait());
    const auto hold = Hold();
    if (hold == nullptr) return IsGone();
    VXLA_ASSIGN_OR_RETURN(const Moment after, ready().AwaitSubmission());
    return DownloadSizes(memory_->device(), shape_, memory_->buffer(), 0, after, memory_->size_messages());
  });
}

Result<Literal> Execution::ToLiteral() const {
  return Guarded([&]() -> Result<Literal> {
    VXLA_RETURN_IF_ERROR(Wait());
    if (on_host != nullptr) return *on_host;
    VXLA_ASSIGN_OR_RETURN(std::vector<Literal> values, Transformed(leaves, &DeviceBuffer::ToLiteral));
    return UnflattenLiteral(shape, values);
  });
}

}  // namespace VXLA_NAMESPACE
