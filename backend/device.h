// Device: one logical device as the scheduler sees it: memory, kernels, command buffers, queues and their
// timelines. backend/vulkan implements it; Vulkan handles never show here.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/custom_kernel.h"
#include "backend/device_facts.h"
#include "backend/lowering.h"
#include "backend/step.h"
#include "backend/timeline.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual int64_t size_bytes() const = 0;
  virtual uint64_t device_address() const = 0;  // 0 without buffer addresses
  // Null if the host cannot see it; coherent if it can. For writing: memory that is not cached is read at a hundredth
  // of its speed, so Device::Download reads.
  virtual std::byte* mapped() = 0;
};

enum class MemoryKind : uint8_t {
  kDevice,     // fastest for kernels; host visible where that costs nothing (software drivers, integrated GPUs, ReBAR)
  kUpload,     // host writes, device reads once: staging
  kReadback,   // device writes, host reads at full speed
  kArguments,  // host writes, kernels read: device memory where the host can write to it. Always mapped.
};
inline constexpr int kMemoryKinds = 4;

struct MemoryStatistics {
  int64_t allocated_bytes = 0;  // from the driver, now
  int64_t used_bytes = 0;       // handed out, now
  int64_t peak_used_bytes = 0;
  int64_t allocation_count = 0;            // driver allocations so far
  int64_t cumulative_allocated_bytes = 0;  // handed out so far; a replayed run must not change it
};

// Told how many of the kernels that must be made are there, from the threads that make them. What is not ok ends it:
// kernels that nobody has begun are not made.
using KernelProgress = std::function<Status(size_t made, size_t wanted)>;

// A compiled pipeline; shared, immutable.
class Kernel {
 public:
  virtual ~Kernel() = default;
  double driver_ms = 0;  // what the driver took to make it
};

// What a driver's compiler made of a kernel, in its own words.
struct KernelExecutable {
  struct Statistic {
    std::string name, value, description;
  };
  struct Form {
    std::string name, text;  // "Assembly" and what came before it; text only
  };
  std::string name;
  uint32_t subgroup_size = 0;
  std::vector<Statistic> statistics;
  std::vector<Form> forms;
};

// Part of a buffer, for binding.
struct BufferRange {
  Buffer* buffer = nullptr;
  int64_t offset_bytes = 0, size_bytes = 0;
};

// What one device tells another: made by the one that signals, opened by the one that waits.
class Signal {
 public:
  virtual ~Signal() = default;
};
// value: of signals that count (DeviceFacts::SharedSignals); each is larger than the one before.
struct SignalPoint {
  Signal* signal = nullptr;
  uint64_t value = 0;
};

// Recorded once, submitted many times; not thread-safe; must not be in flight while it is recorded, nor while it is
// submitted again unless Begin was told so.
class CommandBuffer {
 public:
  virtual ~CommandBuffer() = default;
  // `resubmitted`: it may be submitted again while it is in flight (the submissions wait for one another).
  virtual Status Begin(bool resubmitted = false) = 0;
  // Addresses mode: the argument block at `arguments` (its address becomes the push constant).
  // Descriptors mode: a descriptor set with the block and `buffers` is written and bound.
  // A range that does not begin at workgroup 0 wants a kernel whose key says in_parts.
  virtual Status Dispatch(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                          const GroupRange& range) = 0;
  // As Dispatch, with the three counts of workgroups that lie at `groups_at` when the device comes to it.
  virtual Status DispatchIndirect(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                                  BufferRange groups_at) = 0;
  // All earlier kernel and transfer writes are visible to all later kernels and transfers; reads before writes are
  // ordered.
  // `indirect`: so it is for the counts that DispatchIndirect reads, which costs a little more.
  virtual void Barrier(bool indirect = false) = 0;
  virtual void Copy(BufferRange source, BufferRange target) = 0;
  virtual void Fill(BufferRange target, uint32_t word) = 0;
  // Memory that several devices see (Device::AllocateShared): all of it, written before, is for the others from here
  // on; or what they have written is for this one.
  virtual void Release(BufferRange) {}
  virtual void Acquire(BufferRange) {}
  virtual void WriteTimestamp(int index) = 0;  // index < the count given to CreateCommandBuffer
  virtual void BeginLabel(const char* name) = 0;
  virtual void EndLabel() = 0;
  virtual Status End() = 0;
  // After the submission completed: nanoseconds since an arbitrary start, one per timestamp.
  virtual Result<std::vector<double>> Timestamps() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  // The ways to bind that this device was opened for, the preferred one first; never empty.
  virtual std::span<const BindingMode> binding_modes() const = 0;
  BindingMode binding_mode() const { return binding_modes().front(); }
  virtual const Lowering& lowering(BindingMode mode) const = 0;
  // The same with the user's kernels for the custom calls that name them. Null: this device takes none.
  virtual std::unique_ptr<Lowering> LoweringWith(BindingMode, const CustomKernels&) const { return nullptr; }

  // kResourceExhausted with the size and the limit when it does not fit. Buffers may be freed while work that uses them
  // is in flight only by the owner's care: free after Wait. Alignment is at least 256 bytes.
  virtual Result<std::shared_ptr<Buffer>> Allocate(int64_t size_bytes, MemoryKind kind) = 0;
  virtual MemoryStatistics memory_statistics() const = 0;
  // Memory that another logical device of the same physical device opens with OpenShared (facts().shares_memory).
  virtual Result<std::shared_ptr<Buffer>> AllocateShared(int64_t) {
    return Unsupported("device {}: it shares no memory", facts().name);
  }
  virtual Result<std::shared_ptr<Buffer>> OpenShared(const Buffer&) {
    return Unsupported("device {}: it shares no memory", facts().name);
  }
  // The host's memory, which outlives the buffer, as the device's own; address and size are multiples of
  // facts().host_pointer_alignment.
  virtual Result<std::shared_ptr<Buffer>> ImportHostMemory(std::byte*, int64_t) {
    return Unsupported("device {}: it takes none of the host's memory", facts().name);
  }
  // Signals for another logical device of the same physical device, which opens them with OpenSignal
  // (facts().shares_signals).
  virtual Result<std::shared_ptr<Signal>> MakeSignal() {
    return Unsupported("device {}: it shares no signals", facts().name);
  }
  virtual Result<std::shared_ptr<Signal>> OpenSignal(const Signal&) {
    return Unsupported("device {}: it shares no signals", facts().name);
  }

  // Compiles what is not cached, on all cores; the kernels come in the order of the keys. `compiled` counts those that
  // were neither in memory nor on disk. `mode` is one of binding_modes(); `progress` may be empty.
  virtual Result<std::vector<std::shared_ptr<Kernel>>> GetKernels(BindingMode mode,
                                                                  std::span<const KernelKey* const> keys, int* compiled,
                                                                  const KernelProgress& progress = {}) = 0;
  // The whole GLSL text of a kernel (--dump-kernels).
  virtual Result<std::string> KernelSource(BindingMode mode, const KernelKey& key) const = 0;

  // The SPIR-V of a kernel, optimised for being made a pipeline of elsewhere; compiled unless a cache has it.
  virtual Result<std::vector<uint32_t>> KernelModule(BindingMode, const KernelKey& key) {
    return Unsupported("kernel {}: this device has no SPIR-V", key.algorithm);
  }

  // What the driver made of a kernel, which is compiled for it. kUnsupported: it does not show.
  virtual Result<std::vector<KernelExecutable>> KernelExecutables(BindingMode, const KernelKey& key) {
    return Unsupported("kernel {}: this device shows no compiled kernels", key.algorithm);
  }

  // For one of facts().queues.
  virtual Result<std::unique_ptr<CommandBuffer>> CreateCommandBuffer(int timestamp_count, int queue = 0) = 0;
  // Thread-safe. Goes to the commands' queue, starts once `after` has passed, and returns what that queue reaches at
  // the end. `after` names nothing that has not been submitted.
  virtual Result<TimePoint> Submit(CommandBuffer& commands, const Moment& after) = 0;
  // As Submit; starts once other devices have given `waits`, which they have been told to by then, and gives `signals`
  // at its end. Signals that do not count are waited for once, before they are given again.
  virtual Result<TimePoint> SubmitAcross(CommandBuffer& commands, const Moment& after,
                                         std::span<const SignalPoint> waits, std::span<const SignalPoint> signals) {
    if (waits.empty() && signals.empty()) return Submit(commands, after);
    return Unsupported("device {}: it shares no signals", facts().name);
  }
  // kDeviceFailure once the device is lost. Returns at once if the moment has passed.
  virtual Status Wait(const Moment& moment) = 0;
  virtual bool IsDone(const Moment& moment) = 0;
  // Whether it has passed, waiting no longer than that; a time that has been does not wait. Errors as Wait's.
  virtual Result<bool> WaitUntil(const Moment& moment, std::chrono::steady_clock::time_point deadline) = 0;

  // Blocking copies through staging where needed, on the transfer queue where there is one. Nobody uses the target of
  // an upload meanwhile, and what is submitted later sees it. A download starts once `after` has passed, and waits for
  // nothing else.
  virtual Status Upload(std::span<const std::byte> source, Buffer& target, int64_t offset_bytes) = 0;
  virtual Status Download(Buffer& source, int64_t offset_bytes, std::span<std::byte> target,
                          const Moment& after = {}) = 0;

  // Messages of the validation layers so far (errors, and warnings of the named list); empty without --validate.
  virtual std::vector<std::string> validation_messages() const = 0;
};

}  // namespace VXLA_NAMESPACE
