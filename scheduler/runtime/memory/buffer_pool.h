// BufferPool: device memory of arguments and results, kept for the next run when its owner lets go of it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/status.h"
#include "scheduler/runtime/event.h"
#include "scheduler/runtime/memory/event_waiter.h"
#include "scheduler/runtime/memory/worker.h"

namespace VXLA_NAMESPACE {

class BufferPool;

// A buffer and a number that no other buffer of the pool ever had: pointers come back, numbers do not.
struct NumberedBuffer {
  std::shared_ptr<Buffer> buffer;
  uint64_t number = 0;
  bool lent = false;  // the caller's: never another run's
};

// The memory behind a DeviceBuffer. Goes back to its pool when the last owner drops it, even while the device still
// uses it: the pool knows the moment from which it is free. Whoever has promised its contents, or a use of it, owns it.
class DeviceMemory {
 public:
  DeviceMemory(std::shared_ptr<BufferPool> pool, NumberedBuffer buffer, int64_t size_bytes, const Moment& last_use);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;

  Device& device() const;
  BufferPool& pool() const { return *pool_; }
  const std::shared_ptr<BufferPool>& shared_pool() const { return pool_; }
  // Not of memory that is gone.
  Buffer& buffer() const { return *buffer_.buffer; }
  uint64_t number() const { return buffer_.number; }
  int64_t size_bytes() const { return size_bytes_; }
  MemoryKind kind() const { return kind_; }

  // What negative live sizes in it say (Plan::size_messages); none: nothing. Set before the memory is given to anyone.
  std::span<const std::string> size_messages() const {
    return size_messages_ == nullptr ? std::span<const std::string>() : *size_messages_;
  }
  void set_size_messages(std::shared_ptr<const std::vector<std::string>> messages) {
    size_messages_ = std::move(messages);
  }
  // When the contents may be read; set before the memory is given to anyone.
  Event ready() const;
  void set_ready(Event ready);
  // What else uses it, from work that has been submitted.
  void NoteUse(const Moment& moment);
  // A use that is promised: whoever writes waits for it.
  void NoteUse(const Event& promised);
  // The promised uses that have not been submitted.
  void AddPromisedUses(std::vector<Event>& uses) const;
  // From when on it may be written again, or handed to somebody else; waits for promises, never for the device. The
  // error of contents that failed.
  Result<Moment> AwaitUses() const;
  // When all that was begun with it is over, done or failed; promises included, and nothing waits.
  Event Unused() const;
  // The part of that which is submitted.
  Moment last_use() const;

  // A pinned memory is not donated, and what is deleted meanwhile goes with the last pin. False if it is gone.
  bool Pin();
  void Unpin();
  // Hands the buffer on to a new owner; null if it is gone or if anyone but the caller has pinned it.
  std::shared_ptr<DeviceMemory> Donate();
  // Donated or deleted.
  bool is_gone() const;
  bool donated() const;
  // Gone from here on; nothing waits: the pool has the memory once its uses have been submitted.
  void Delete();
  // After each promise of contents or use that is kept.
  void NotePromiseKept();

 private:
  friend class BufferPool;
  bool IsGone() const { return donated_ || deleted_; }
  void GiveBackIfDeleted(std::unique_lock<std::mutex>& lock);
  void DropPastPromises() const;

  std::shared_ptr<BufferPool> pool_;
  NumberedBuffer buffer_;
  int64_t size_bytes_;
  std::shared_ptr<const std::vector<std::string>> size_messages_;
  MemoryKind kind_ = MemoryKind::kDevice;
  mutable std::mutex mutex_;
  Event ready_;
  Moment last_use_;
  mutable std::vector<Event> promised_;  // uses
  int pins_ = 0;
  bool donated_ = false, deleted_ = false;
};

// Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  enum class Writer : uint8_t { kHost, kDevice };

  BufferPool(std::shared_ptr<Device> device, bool poison);
  ~BufferPool();

  Device& device() const { return *device_; }
  const std::shared_ptr<EventWaiter>& waiter() const { return waiter_; }
  // Of transfers that the host has a part in, each of which can go on at once.
  Worker& transfers() { return transfers_; }
  // Memory for `size_bytes` bytes (0 is fine). A host writer gets memory that the device has finished with; a device
  // writer waits for last_use() first. Adds what came from the device to `allocated_bytes`. The buffer numbered
  // `preferred` is taken if it is idle: commands that name it can then be replayed.
  Result<std::shared_ptr<DeviceMemory>> Take(int64_t size_bytes, Writer writer, int64_t& allocated_bytes,
                                             uint64_t preferred = 0, MemoryKind kind = MemoryKind::kDevice);
  // Memory of the caller's, whose contents may be read from `ready` on. When its owner has let go of it, it is kept as
  // long as the device uses it.
  std::shared_ptr<DeviceMemory> Lend(std::shared_ptr<Buffer> buffer, int64_t size_bytes, Event ready);
  // Memory that no pool keeps: scratch, argument blocks, constants.
  Result<std::shared_ptr<Buffer>> Allocate(int64_t size_bytes, MemoryKind kind, int64_t& allocated_bytes);

 private:
  friend class DeviceMemory;
  struct Idle {
    NumberedBuffer buffer;
    Moment last_use;
  };
  void GiveBack(NumberedBuffer buffer, MemoryKind kind, const Moment& last_use) noexcept;
  using Buckets = std::map<int64_t, std::vector<Idle>>;  // by capacity
  NumberedBuffer FindIdle(MemoryKind kind, int64_t capacity, Writer writer, uint64_t preferred, Moment& last_use);
  // Frees all idle memory; false if there was none.
  bool Trim();
  void ReleaseLent();
  Status Poison(Buffer& buffer);

  std::shared_ptr<Device> device_;
  bool poison_;
  std::mutex mutex_;
  std::array<Buckets, kMemoryKinds> idle_;
  std::vector<Idle> lent_;  // let go of while the device used it
  std::atomic<uint64_t> next_number_ = 1;
  const std::shared_ptr<EventWaiter> waiter_;
  Worker transfers_;
};

}  // namespace VXLA_NAMESPACE
