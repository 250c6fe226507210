// BufferPool: device memory of arguments and results, kept for the next run when its owner lets go of it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

class BufferPool;

// A buffer and a number that no other buffer of the pool ever had: pointers come back, numbers do not.
struct NumberedBuffer {
  std::shared_ptr<Buffer> buffer;
  uint64_t number = 0;
  bool lent = false;  // the caller's: never another run's
};

// The memory behind a DeviceValue. Goes back to its pool when the last owner drops it, even while the device still uses
// it: the pool knows the moment from which it is free.
class DeviceMemory {
 public:
  DeviceMemory(std::shared_ptr<BufferPool> pool, NumberedBuffer buffer, int64_t size_bytes, const Moment& last_use);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;

  Device& device() const;
  Buffer& buffer() const { return *buffer_.buffer; }
  uint64_t number() const { return buffer_.number; }
  int64_t size_bytes() const { return size_bytes_; }

  // From when on the contents may be read; set once, before the memory is given to anyone.
  const Moment& ready() const { return ready_; }
  void set_ready(const Moment& moment) { ready_ = moment; }
  // What negative live sizes in it say (Plan::size_messages); none: nothing.
  std::span<const std::string> size_messages() const {
    return size_messages_ == nullptr ? std::span<const std::string>() : *size_messages_;
  }
  void set_size_messages(std::shared_ptr<const std::vector<std::string>> messages) {
    size_messages_ = std::move(messages);
  }
  // From when on it may be written again.
  Moment last_use() const;
  void NoteUse(const Moment& moment);

  // A pinned memory cannot be donated. False if it has been donated already.
  bool Pin();
  void Unpin();
  // Hands the buffer on to a new owner; null if it is gone or if anyone but the caller has pinned it.
  std::shared_ptr<DeviceMemory> Donate();
  bool donated() const;

 private:
  friend class BufferPool;
  std::shared_ptr<BufferPool> pool_;
  NumberedBuffer buffer_;
  int64_t size_bytes_;
  Moment ready_;
  std::shared_ptr<const std::vector<std::string>> size_messages_;
  mutable std::mutex mutex_;
  Moment last_use_;
  int pins_ = 0;
  bool donated_ = false;
};

// Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  enum class Writer : uint8_t { kHost, kDevice };

  BufferPool(std::shared_ptr<Device> device, bool poison) : device_(std::move(device)), poison_(poison) {}
  ~BufferPool();

  Device& device() const { return *device_; }
  // Memory for `size_bytes` bytes (0 is fine). A host writer gets memory that the device has finished with; a device
  // writer waits for last_use() first. Adds what came from the device to `allocated_bytes`. The buffer numbered
  // `preferred` is taken if it is idle: commands that name it can then be replayed.
  Result<std::shared_ptr<DeviceMemory>> Take(int64_t size_bytes, Writer writer, int64_t& allocated_bytes,
                                             uint64_t preferred = 0);
  // Memory of the caller's, whose contents may be read from `ready` on. When its owner has let go of it, it is kept as
  // long as the device uses it.
  std::shared_ptr<DeviceMemory> Lend(std::shared_ptr<Buffer> buffer, int64_t size_bytes, const Moment& ready);
  // Memory that no pool keeps: scratch, argument blocks, constants.
  Result<std::shared_ptr<Buffer>> Allocate(int64_t size_bytes, MemoryKind kind, int64_t& allocated_bytes);

 private:
  friend class DeviceMemory;
  struct Idle {
    NumberedBuffer buffer;
    Moment last_use;
  };
  void GiveBack(NumberedBuffer buffer, const Moment& last_use) noexcept;
  NumberedBuffer FindIdle(int64_t capacity, Writer writer, uint64_t preferred, Moment& last_use);
  // Frees all idle memory; false if there was none.
  bool Trim();
  void ReleaseLent();
  Status Poison(Buffer& buffer);

  std::shared_ptr<Device> device_;
  bool poison_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<Idle>> idle_;  // by capacity
  std::vector<Idle> lent_;                     // let go of while the device used it
  std::atomic<uint64_t> next_number_ = 1;
};

}  // namespace VXLA_NAMESPACE
