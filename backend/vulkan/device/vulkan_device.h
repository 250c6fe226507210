// VulkanDevice: the parts of a device put together behind the Device interface.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/vulkan/device/commands/queue.h"
#include "backend/vulkan/device/commands/transfer.h"
#include "backend/vulkan/device/handles/shared_signal.h"
#include "backend/vulkan/device/open.h"
#include "backend/vulkan/device/probes/probe.h"
#include "backend/vulkan/shader/pipeline_cache.h"

namespace VXLA_NAMESPACE::vulkan {

// What the device layer gets from the layers above it: shader texts, the lowering, and what compiles and probes. A
// library without the compiler gives none of it: its devices run SPIR-V modules (KernelKey::is_module).
struct DeviceHooks {
  std::function<Result<std::string>(const KernelKey&, const DeviceFacts&, BindingMode)> source;
  // With the user's kernels; may be empty.
  std::function<std::unique_ptr<Lowering>(const DeviceFacts&, BindingMode, const CustomKernels&)> lowering;
  ModuleCompiler compiler = {};
  // What the next one runs.
  ProbeModules probes = {};
  // Asks the device how it computes and notes it in the facts.
  std::function<Status(const ProbeTools&, DiskCache&, DeviceFacts&)> probe = nullptr;
};

// A library's without the compiler: these probes and no more.
DeviceHooks WithProbes(ProbeModules probes);
// These hooks with the compiler and the probes of this library (open.cc).
DeviceHooks WithCompiler(DeviceHooks hooks);
// All of this library's.
DeviceHooks AllHooks();

// A device with these hooks and no others.
Result<std::unique_ptr<Device>> OpenDevice(int index, const OpenOptions& options, const DeviceHooks& hooks);

// OpenDevice with other sources or another lowering.
Result<std::unique_ptr<Device>> OpenDeviceWith(int index, const OpenOptions& options, DeviceHooks hooks);

// The ways to bind that a device is opened for, the preferred one first.
std::vector<BindingMode> BindingModesFor(const DeviceFacts& facts, const OpenOptions& options);

class VulkanDevice final : public Device {
 public:
  static Result<std::unique_ptr<VulkanDevice>> Create(std::shared_ptr<DeviceContext> context,
                                                      std::vector<BindingMode> modes, const OpenOptions& options,
                                                      const DeviceHooks& hooks);

  ~VulkanDevice() override;

  const DeviceFacts& facts() const override { return context_->facts(); }
  std::span<const BindingMode> binding_modes() const override { return modes_; }
  const Lowering& lowering(BindingMode mode) const override;
  std::unique_ptr<Lowering> LoweringWith(BindingMode mode, const CustomKernels& kernels) const override;
  Result<std::shared_ptr<Buffer>> Allocate(int64_t size_bytes, MemoryKind kind) override;
  Result<std::shared_ptr<Buffer>> AllocateShared(int64_t size_bytes) override;
  Result<std::shared_ptr<Buffer>> OpenShared(const Buffer& buffer) override;
  Result<std::shared_ptr<Buffer>> ImportHostMemory(std::byte* memory, int64_t size_bytes) override;
  MemoryStatistics memory_statistics() const override { return allocator_->statistics(); }
  Result<std::vector<std::shared_ptr<Kernel>>> GetKernels(BindingMode mode, std::span<const KernelKey* const> keys,
                                                          int* compiled, const KernelProgress& progress = {}) override;
  Result<std::vector<KernelExecutable>> KernelExecutables(BindingMode mode, const KernelKey& key) override;
  Result<std::string> KernelSource(BindingMode mode, const KernelKey& key) const override;
  Result<std::vector<uint32_t>> KernelModule(BindingMode mode, const KernelKey& key) override;
  Result<std::unique_ptr<CommandBuffer>> CreateCommandBuffer(int timestamp_count, int queue = 0) override;
  Result<TimePoint> Submit(CommandBuffer& commands, const Moment& after) override;
  Result<std::shared_ptr<Signal>> MakeSignal() override { return SharedSignal::Make(context_); }
  Result<std::shared_ptr<Signal>> OpenSignal(const Signal& signal) override {
    return SharedSignal::Open(context_, signal);
  }
  Result<TimePoint> SubmitAcross(CommandBuffer& commands, const Moment& after, std::span<const SignalPoint> waits,
                                 std::span<const SignalPoint> signals) override;
  Status Wait(const Moment& moment) override { return queues_->Wait(moment); }
  bool IsDone(const Moment& moment) override { return queues_->IsDone(moment); }
  Result<bool> WaitUntil(const Moment& moment, std::chrono::steady_clock::time_point deadline) override {
    return queues_->WaitUntil(moment, deadline);
  }
  Status Upload(std::span<const std::byte> source, Buffer& target, int64_t offset_bytes) override;
  Status Download(Buffer& source, int64_t offset_bytes, std::span<std::byte> target, const Moment& after = {}) override;
  std::vector<std::string> validation_messages() const override { return context_->instance().validation_messages(); }

  // Why nothing is cached on disk; empty if all is well.
  std::string cache_note() const { return disk_->note(); }
  DeviceContext& context() { return *context_; }
  const std::shared_ptr<DeviceContext>& shared_context() const { return context_; }
  Queues& queues() { return *queues_; }
  // Queues::Submit of commands that are freed when they have finished.
  Result<TimePoint> SubmitOnce(std::unique_ptr<VulkanCommandBuffer> commands, const Moment& after,
                               const HostSemaphore* wait, const HostSemaphore* signal);

 private:
  VulkanDevice() = default;

  // In the order of construction; destruction runs backwards.
  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<DiskCache> disk_;
  std::shared_ptr<MemoryAllocator> allocator_;
  std::unique_ptr<Queues> queues_;
  struct Submitted {
    TimePoint done;
    std::unique_ptr<VulkanCommandBuffer> commands;
  };
  std::mutex submitted_mutex_;
  std::vector<Submitted> submitted_;
  std::shared_ptr<KernelLayouts> layouts_;
  std::unique_ptr<Transfer> transfer_;
  // By BindingMode; null for a mode that the device was not opened for.
  std::array<std::unique_ptr<PipelineCache>, 2> pipelines_;
  std::array<std::unique_ptr<Lowering>, 2> lowerings_;
  DeviceHooks hooks_;
  std::vector<BindingMode> modes_;
  bool poison_ = false;
};

}  // namespace VXLA_NAMESPACE::vulkan
