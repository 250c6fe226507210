#include "scheduler/runtime/device_value.h"

#include "core/host/guarded.h"
#include "scheduler/runtime/buffer_pool.h"
#include "scheduler/runtime/live_values.h"

namespace VXLA_NAMESPACE {

DeviceValue::DeviceValue(Shape shape, std::shared_ptr<DeviceMemory> memory, std::vector<int64_t> live_sizes)
    : shape_(std::move(shape)), memory_(std::move(memory)), live_sizes_(std::move(live_sizes)) {}

bool DeviceValue::IsReady() const { return memory_ == nullptr || memory_->device().IsDone(memory_->ready()); }

Status DeviceValue::Wait() const {
  if (memory_ == nullptr || memory_->ready().is_beginning()) return OkStatus();
  return memory_->device().Wait(memory_->ready());
}

namespace {

Status IsDonated(const Shape& shape) {
  return InvalidArgument("the {} has been donated to a run; its memory is another value's", shape.ToString());
}

}  // namespace

Result<Literal> DeviceValue::ToLiteral() const {
  if (memory_ == nullptr)
    return InvalidArgument("a device value of {} that holds nothing cannot be downloaded", shape_.ToString());
  // Before the wait, too: what is written may need the caller first.
  if (memory_->donated()) return IsDonated(shape_);
  VXLA_RETURN_IF_ERROR(Wait());
  if (!memory_->Pin()) return IsDonated(shape_);
  Result<Literal> literal = Guarded([&] {
    return DownloadLiteral(memory_->device(), shape_, memory_->buffer(), 0, memory_->ready(), live_sizes_,
                           memory_->size_messages());
  });
  memory_->Unpin();
  return literal;
}

Result<std::vector<int64_t>> DeviceValue::LiveSizes() const {
  if (knows_sizes() || !shape_.IsArray()) return live_sizes_;
  if (!shape_.IsDynamic()) return std::vector<int64_t>(shape_.dimensions().begin(), shape_.dimensions().end());
  if (memory_->donated()) return IsDonated(shape_);
  VXLA_RETURN_IF_ERROR(Wait());
  if (!memory_->Pin()) return IsDonated(shape_);
  auto sizes = Guarded([&] {
    return DownloadSizes(memory_->device(), shape_, memory_->buffer(), 0, memory_->ready(), memory_->size_messages());
  });
  memory_->Unpin();
  return sizes;
}

bool Execution::IsReady() const {
  for (const DeviceValue& leaf : leaves) {
    if (!leaf.IsReady()) return false;
  }
  return true;
}

Status Execution::Wait() const {
  for (const DeviceValue& leaf : leaves) VXLA_RETURN_IF_ERROR(leaf.Wait());
  return OkStatus();
}

Result<Literal> Execution::ToLiteral() const {
  return Guarded([&]() -> Result<Literal> {
    std::vector<Literal> values;
    for (const DeviceValue& leaf : leaves) {
      VXLA_ASSIGN_OR_RETURN(Literal value, leaf.ToLiteral());
      values.push_back(std::move(value));
    }
    return UnflattenLiteral(shape, values);
  });
}

}  // namespace VXLA_NAMESPACE
