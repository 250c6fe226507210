#include "scheduler/runtime/memory/transfers.h"

#include <utility>
#include <vector>

#include "core/host/guarded.h"

namespace VXLA_NAMESPACE {
namespace {

// A copy on one device, which is submitted when the source's contents have been.
struct DeviceCopy {
  std::shared_ptr<DeviceMemory> source, target;
  std::shared_ptr<const void> hold;
  std::unique_ptr<CommandBuffer> commands;

  Result<TimePoint> Submit() const {
    VXLA_ASSIGN_OR_RETURN(Moment after, source->ready().AwaitSubmission());
    after.Join(target->last_use());
    VXLA_ASSIGN_OR_RETURN(const TimePoint point, source->device().Submit(*commands, after));
    source->NoteUse(point);
    return point;
  }
};

Status Record(DeviceCopy& copy, int64_t bytes) {
  VXLA_ASSIGN_OR_RETURN(copy.commands, copy.source->device().CreateCommandBuffer(0));
  VXLA_RETURN_IF_ERROR(copy.commands->Begin());
  copy.commands->Copy({&copy.source->buffer(), 0, bytes}, {&copy.target->buffer(), 0, bytes});
  return copy.commands->End();
}

// The commands, and what they name, stay until the device has finished.
void KeepUntil(const Event& done, std::shared_ptr<DeviceCopy> copy) {
  done.OnReady([copy = std::move(copy)](const Status&) {});
}

Status CopyOnDevice(const std::shared_ptr<DeviceCopy>& copy, int64_t bytes) {
  VXLA_RETURN_IF_ERROR(Record(*copy, bytes));
  const std::shared_ptr<EventWaiter>& waiter = copy->target->pool().waiter();
  const Event ready = copy->source->ready();
  if (ready.IsSubmitted()) {
    VXLA_ASSIGN_OR_RETURN(const TimePoint point, copy->Submit());
    copy->target->set_ready(Event(waiter, point));
    KeepUntil(copy->target->ready(), copy);
    return OkStatus();
  }
  const auto promise = std::make_shared<Promise>();
  copy->target->set_ready(promise->event());
  ready.OnReady([copy, promise, waiter](const Status& status) {
    if (!status.ok()) return promise->Keep(status);
    const Result<TimePoint> point = copy->Submit();
    if (!point.ok()) return promise->Keep(point.status());
    promise->Keep(waiter, *point);
    KeepUntil(promise->event(), copy);
  });
  return OkStatus();
}

}  // namespace

Event WhenReady(const std::shared_ptr<BufferPool>& pool, const Event& after, int64_t bytes,
                std::function<Status()> work) {
  if (bytes <= kFewBytes && after.IsReady()) {
    Status status = after.Await();
    return Event(status.ok() ? Guarded(work) : std::move(status));
  }
  const auto promise = std::make_shared<Promise>();
  Event done = promise->event();
  after.OnReady([pool, promise, work = std::move(work)](const Status& status) mutable {
    if (!status.ok()) {
      work = nullptr;
      return promise->Keep(status);
    }
    pool->transfers().Add([promise, work = std::move(work)]() mutable {
      Status did = Guarded(work);
      work = nullptr;
      promise->Keep(std::move(did));
    });
  });
  return done;
}

Status DownloadBytes(const DeviceMemory& source, std::span<std::byte> target) {
  // Which has passed; what it wrote is seen by who waits for it.
  VXLA_ASSIGN_OR_RETURN(const Moment after, source.ready().AwaitSubmission());
  return source.device().Download(source.buffer(), 0, target, after);
}

Result<std::shared_ptr<DeviceMemory>> CopyMemory(const std::shared_ptr<DeviceMemory>& source, int64_t bytes,
                                                 const std::shared_ptr<BufferPool>& pool, MemoryKind kind,
                                                 const std::shared_ptr<const void>& hold) {
  const bool here = &source->device() == &pool->device();
  int64_t allocated_bytes = 0;
  VXLA_ASSIGN_OR_RETURN(auto target, pool->Take(bytes, here ? BufferPool::Writer::kDevice : BufferPool::Writer::kHost,
                                                allocated_bytes, 0, kind));
  if (bytes == 0) return target;
  if (here) {
    VXLA_RETURN_IF_ERROR(CopyOnDevice(std::make_shared<DeviceCopy>(DeviceCopy{source, target, hold, nullptr}), bytes));
    return target;
  }
  target->set_ready(WhenReady(pool, source->ready(), bytes, [source, target, hold, bytes]() -> Status {
    std::vector<std::byte> staged(static_cast<size_t>(bytes));
    VXLA_RETURN_IF_ERROR(DownloadBytes(*source, staged));
    return target->device().Upload(staged, target->buffer(), 0);
  }));
  return target;
}

}  // namespace VXLA_NAMESPACE
