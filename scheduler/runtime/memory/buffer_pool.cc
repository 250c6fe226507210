#include "scheduler/runtime/memory/buffer_pool.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

// Requests are rounded up, so that near misses share and every range may be rounded up to whole words.
int64_t CapacityFor(int64_t size_bytes) { return RoundUp(std::max<int64_t>(size_bytes, 1), kBlockAlignment); }

}  // namespace

DeviceMemory::DeviceMemory(std::shared_ptr<BufferPool> pool, NumberedBuffer buffer, int64_t size_bytes,
                           const Moment& last_use)
    : pool_(std::move(pool)), buffer_(std::move(buffer)), size_bytes_(size_bytes), last_use_(last_use) {}

DeviceMemory::~DeviceMemory() {
  if (buffer_.buffer == nullptr) return;
  // Nobody is left who could keep a promise; a run that failed has waited for its device.
  Moment free = last_use_;
  if (ready_.IsSubmitted()) {
    if (const Result<Moment> ready = ready_.AwaitSubmission(); ready.ok()) free.Join(*ready);
  }
  pool_->GiveBack(std::move(buffer_), kind_, free);
}

Device& DeviceMemory::device() const { return pool_->device(); }

Event DeviceMemory::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_;
}

void DeviceMemory::set_ready(Event ready) {
  const std::lock_guard lock(mutex_);
  ready_ = std::move(ready);
}

Moment DeviceMemory::last_use() const {
  const std::lock_guard lock(mutex_);
  return last_use_;
}

void DeviceMemory::NoteUse(const Moment& moment) {
  const std::lock_guard lock(mutex_);
  last_use_.Join(moment);
}

void DeviceMemory::NoteUse(const Event& promised) {
  const std::lock_guard lock(mutex_);
  DropPastPromises();
  promised_.push_back(promised);
}

void DeviceMemory::DropPastPromises() const {
  // What became of them is in last_use_ by then, or they failed.
  std::erase_if(promised_, [](const Event& event) { return event.IsSubmitted(); });
}

void DeviceMemory::AddPromisedUses(std::vector<Event>& uses) const {
  const std::lock_guard lock(mutex_);
  DropPastPromises();
  uses.insert(uses.end(), promised_.begin(), promised_.end());
}

Result<Moment> DeviceMemory::AwaitUses() const {
  std::vector<Event> promises;
  AddPromisedUses(promises);
  for (const Event& promise : promises) (void)promise.AwaitSubmission();  // a use that failed is over
  VXLA_ASSIGN_OR_RETURN(Moment uses, ready().AwaitSubmission());
  uses.Join(last_use());
  return uses;
}

Event DeviceMemory::Unused() const {
  std::vector<Event> uses;
  AddPromisedUses(uses);
  uses.emplace_back(pool_->waiter(), last_use());  // behind the promises: one that was kept just now is in it
  uses.push_back(ready());
  for (Event& use : uses) {
    const auto over = std::make_shared<Promise>();
    use.OnReady([over](const Status&) { over->Keep(OkStatus()); });
    use = over->event();
  }
  return Event::AllOf(uses);
}

bool DeviceMemory::Pin() {
  std::lock_guard lock(mutex_);
  if (IsGone()) return false;
  ++pins_;
  return true;
}

void DeviceMemory::Unpin() {
  std::unique_lock lock(mutex_);
  --pins_;
  GiveBackIfDeleted(lock);
}

std::shared_ptr<DeviceMemory> DeviceMemory::Donate() {
  std::lock_guard lock(mutex_);
  if (IsGone() || pins_ != 1) return nullptr;
  auto successor = std::make_shared<DeviceMemory>(pool_, NumberedBuffer{}, size_bytes_, last_use_);
  successor->kind_ = kind_;
  successor->ready_ = ready_;
  DropPastPromises();
  successor->promised_ = promised_;
  successor->buffer_ = std::exchange(buffer_, {});
  donated_ = true;
  return successor;
}

bool DeviceMemory::is_gone() const {
  std::lock_guard lock(mutex_);
  return IsGone();
}

bool DeviceMemory::donated() const {
  std::lock_guard lock(mutex_);
  return donated_;
}

void DeviceMemory::Delete() {
  std::unique_lock lock(mutex_);
  deleted_ = true;
  GiveBackIfDeleted(lock);
}

void DeviceMemory::NotePromiseKept() {
  std::unique_lock lock(mutex_);
  GiveBackIfDeleted(lock);
}

void DeviceMemory::GiveBackIfDeleted(std::unique_lock<std::mutex>& lock) {
  if (!deleted_ || pins_ != 0 || buffer_.buffer == nullptr || !ready_.IsSubmitted()) return;
  DropPastPromises();
  if (!promised_.empty()) return;  // whoever promised it comes by again
  const Result<Moment> ready = ready_.AwaitSubmission();
  const Moment free = Later(last_use_, ready.ok() ? *ready : Moment());
  NumberedBuffer buffer = std::exchange(buffer_, {});
  lock.unlock();
  pool_->GiveBack(std::move(buffer), kind_, free);
}

BufferPool::BufferPool(std::shared_ptr<Device> device, bool poison)
    : device_(std::move(device)), poison_(poison), waiter_(std::make_shared<EventWaiter>(device_)) {}

BufferPool::~BufferPool() {
  Trim();
  for (Idle& idle : lent_) (void)device_->Wait(idle.last_use);
}

Result<std::shared_ptr<DeviceMemory>> BufferPool::Take(int64_t size_bytes, Writer writer, int64_t& allocated_bytes,
                                                       uint64_t preferred, MemoryKind kind) {
  const int64_t capacity = CapacityFor(size_bytes);
  // First what may throw: a buffer that the device still uses has an owner all the time.
  auto memory = std::make_shared<DeviceMemory>(shared_from_this(), NumberedBuffer{}, size_bytes, Moment());
  Moment last_use;
  memory->kind_ = kind;
  memory->buffer_ = FindIdle(kind, capacity, writer, preferred, last_use);
  memory->last_use_ = last_use;
  if (memory->buffer_.buffer == nullptr) {
    VXLA_ASSIGN_OR_RETURN(memory->buffer_.buffer, Allocate(capacity, kind, allocated_bytes));
    memory->buffer_.number = next_number_++;
  }
  return memory;
}

std::shared_ptr<DeviceMemory> BufferPool::Lend(std::shared_ptr<Buffer> buffer, int64_t size_bytes, Event ready) {
  ReleaseLent();
  NumberedBuffer numbered{std::move(buffer), next_number_++, /*lent=*/true};
  auto memory = std::make_shared<DeviceMemory>(shared_from_this(), std::move(numbered), size_bytes, Moment());
  memory->set_ready(std::move(ready));
  return memory;
}

Result<std::shared_ptr<Buffer>> BufferPool::Allocate(int64_t size_bytes, MemoryKind kind, int64_t& allocated_bytes) {
  const int64_t capacity = CapacityFor(size_bytes);
  auto buffer = device_->Allocate(capacity, kind);
  if (!buffer.ok() && buffer.status().code() == StatusCode::kResourceExhausted && Trim()) {
    buffer = device_->Allocate(capacity, kind);
  }
  if (!buffer.ok()) return buffer.status();
  allocated_bytes += capacity;
  if (poison_) VXLA_RETURN_IF_ERROR(Poison(**buffer));
  return std::move(*buffer);
}

void BufferPool::GiveBack(NumberedBuffer buffer, MemoryKind kind, const Moment& last_use) noexcept {
  try {
    if (buffer.lent && device_->IsDone(last_use)) return;
    std::lock_guard lock(mutex_);
    auto& idle = buffer.lent ? lent_ : idle_[static_cast<size_t>(kind)][buffer.buffer->size_bytes()];
    idle.push_back({buffer, last_use});
  } catch (const std::bad_alloc&) {
    // There is no memory to remember it by: it is freed once the device has finished with it.
    (void)device_->Wait(last_use);
  }
}

NumberedBuffer BufferPool::FindIdle(MemoryKind kind, int64_t capacity, Writer writer, uint64_t preferred,
                                    Moment& last_use) {
  std::lock_guard lock(mutex_);
  Buckets& buckets = idle_[static_cast<size_t>(kind)];
  // A device may hand out a little more than was asked for; much larger memory is left for those who need it.
  const auto first = buckets.lower_bound(capacity),
             last = buckets.upper_bound(capacity + capacity / 8 + kBlockAlignment);
  const auto usable = [&](const Idle& idle) { return writer == Writer::kDevice || device_->IsDone(idle.last_use); };
  const auto take = [&](std::vector<Idle>& buffers, std::vector<Idle>::iterator chosen) {
    last_use = chosen->last_use;
    NumberedBuffer buffer = std::move(chosen->buffer);
    buffers.erase(chosen);
    return buffer;
  };
  for (auto bucket = first; preferred != 0 && bucket != last; ++bucket) {
    const auto found =
        std::ranges::find_if(bucket->second, [&](const Idle& idle) { return idle.buffer.number == preferred; });
    if (found != bucket->second.end() && usable(*found)) return take(bucket->second, found);
  }
  for (auto bucket = first; bucket != last; ++bucket) {
    if (bucket->second.empty()) continue;
    const auto oldest =
        std::ranges::min_element(bucket->second, {}, [](const Idle& idle) { return idle.last_use.sum(); });
    return usable(*oldest) ? take(bucket->second, oldest) : NumberedBuffer{};
  }
  return {};
}

bool BufferPool::Trim() {
  std::array<Buckets, kMemoryKinds> freed;
  {
    std::lock_guard lock(mutex_);
    freed.swap(idle_);
  }
  bool any = false;
  for (const Buckets& buckets : freed) {
    for (const auto& [capacity, buffers] : buckets) {
      for (const Idle& idle : buffers) {
        (void)device_->Wait(idle.last_use);  // a lost device has nothing left to wait for
        any = true;
      }
    }
  }
  return any;
}

void BufferPool::ReleaseLent() {
  std::lock_guard lock(mutex_);
  std::erase_if(lent_, [&](const Idle& idle) { return device_->IsDone(idle.last_use); });
}

Status BufferPool::Poison(Buffer& buffer) {
  // A signalling NaN in every float type, a large number in every integer type, and not a bool.
  const std::vector<std::byte> pattern(static_cast<size_t>(std::min<int64_t>(buffer.size_bytes(), 1 << 20)),
                                       std::byte{0xFB});
  for (int64_t offset = 0; offset < buffer.size_bytes(); offset += static_cast<int64_t>(pattern.size())) {
    const int64_t size = std::min<int64_t>(buffer.size_bytes() - offset, static_cast<int64_t>(pattern.size()));
    VXLA_RETURN_IF_ERROR(device_->Upload(std::span(pattern).first(size), buffer, offset));
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
