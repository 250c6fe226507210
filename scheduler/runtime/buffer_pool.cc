#include "scheduler/runtime/buffer_pool.h"

#include <algorithm>
#include <new>
#include <utility>

namespace VXLA_NAMESPACE {
namespace {

// Requests are rounded up, so that near misses share and every range may be rounded up to whole words.
constexpr int64_t kGranularity = 256;

}  // namespace

DeviceMemory::DeviceMemory(std::shared_ptr<BufferPool> pool, NumberedBuffer buffer, int64_t size_bytes,
                           const Moment& last_use)
    : pool_(std::move(pool)), buffer_(std::move(buffer)), size_bytes_(size_bytes), last_use_(last_use) {}

DeviceMemory::~DeviceMemory() {
  if (buffer_.buffer != nullptr) pool_->GiveBack(std::move(buffer_), Later(last_use_, ready_));
}

Device& DeviceMemory::device() const { return pool_->device(); }

Moment DeviceMemory::last_use() const {
  const std::lock_guard lock(mutex_);
  return last_use_;
}

void DeviceMemory::NoteUse(const Moment& moment) {
  const std::lock_guard lock(mutex_);
  last_use_.Join(moment);
}

bool DeviceMemory::Pin() {
  std::lock_guard lock(mutex_);
  if (donated_) return false;
  ++pins_;
  return true;
}

void DeviceMemory::Unpin() {
  std::lock_guard lock(mutex_);
  --pins_;
}

std::shared_ptr<DeviceMemory> DeviceMemory::Donate() {
  std::lock_guard lock(mutex_);
  if (donated_ || pins_ != 1) return nullptr;
  auto successor = std::make_shared<DeviceMemory>(pool_, NumberedBuffer{}, size_bytes_, last_use_);
  successor->buffer_ = std::exchange(buffer_, {});
  donated_ = true;
  successor->set_ready(ready_);
  return successor;
}

bool DeviceMemory::donated() const {
  std::lock_guard lock(mutex_);
  return donated_;
}

BufferPool::~BufferPool() {
  for (auto& [capacity, buffers] : idle_) {
    // A lost device has nothing left to wait for.
    for (Idle& idle : buffers) (void)device_->Wait(idle.last_use);
  }
  for (Idle& idle : lent_) (void)device_->Wait(idle.last_use);
}

Result<std::shared_ptr<DeviceMemory>> BufferPool::Take(int64_t size_bytes, Writer writer, int64_t& allocated_bytes,
                                                       uint64_t preferred) {
  const int64_t capacity = (std::max<int64_t>(size_bytes, 1) + kGranularity - 1) / kGranularity * kGranularity;
  // First what may throw: a buffer that the device still uses has an owner all the time.
  auto memory = std::make_shared<DeviceMemory>(shared_from_this(), NumberedBuffer{}, size_bytes, Moment());
  Moment last_use;
  memory->buffer_ = FindIdle(capacity, writer, preferred, last_use);
  memory->last_use_ = last_use;
  if (memory->buffer_.buffer == nullptr) {
    VXLA_ASSIGN_OR_RETURN(memory->buffer_.buffer, Allocate(capacity, MemoryKind::kDevice, allocated_bytes));
    memory->buffer_.number = next_number_++;
  }
  return memory;
}

std::shared_ptr<DeviceMemory> BufferPool::Lend(std::shared_ptr<Buffer> buffer, int64_t size_bytes,
                                               const Moment& ready) {
  ReleaseLent();
  NumberedBuffer numbered{std::move(buffer), next_number_++, /*lent=*/true};
  auto memory = std::make_shared<DeviceMemory>(shared_from_this(), std::move(numbered), size_bytes, ready);
  memory->set_ready(ready);
  return memory;
}

Result<std::shared_ptr<Buffer>> BufferPool::Allocate(int64_t size_bytes, MemoryKind kind, int64_t& allocated_bytes) {
  const int64_t capacity = (std::max<int64_t>(size_bytes, 1) + kGranularity - 1) / kGranularity * kGranularity;
  auto buffer = device_->Allocate(capacity, kind);
  if (!buffer.ok() && buffer.status().code() == StatusCode::kResourceExhausted && Trim()) {
    buffer = device_->Allocate(capacity, kind);
  }
  if (!buffer.ok()) return buffer.status();
  allocated_bytes += capacity;
  if (poison_) VXLA_RETURN_IF_ERROR(Poison(**buffer));
  return std::move(*buffer);
}

void BufferPool::GiveBack(NumberedBuffer buffer, const Moment& last_use) noexcept {
  try {
    if (buffer.lent && device_->IsDone(last_use)) return;
    std::lock_guard lock(mutex_);
    (buffer.lent ? lent_ : idle_[buffer.buffer->size_bytes()]).push_back({buffer, last_use});
  } catch (const std::bad_alloc&) {
    // There is no memory to remember it by: it is freed once the device has finished with it.
    (void)device_->Wait(last_use);
  }
}

NumberedBuffer BufferPool::FindIdle(int64_t capacity, Writer writer, uint64_t preferred, Moment& last_use) {
  std::lock_guard lock(mutex_);
  // A device may hand out a little more than was asked for; much larger memory is left for those who need it.
  const auto first = idle_.lower_bound(capacity), last = idle_.upper_bound(capacity + capacity / 8 + kGranularity);
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
  std::map<int64_t, std::vector<Idle>> freed;
  {
    std::lock_guard lock(mutex_);
    freed.swap(idle_);
  }
  bool any = false;
  for (auto& [capacity, buffers] : freed) {
    for (Idle& idle : buffers) {
      (void)device_->Wait(idle.last_use);
      any = true;
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
