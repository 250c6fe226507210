// A device whose lowering has a fault: everything else is the device behind it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE::testing {

// Fails a check of its own wherever the test says so.
class FaultyLowering : public Lowering {
 public:
  using Fails = std::function<bool(const Instruction&)>;
  FaultyLowering(const Lowering& lowering, Fails fails) : lowering_(lowering), fails_(std::move(fails)) {}
  Status CanLower(const Instruction& instruction) const override { return lowering_.CanLower(instruction); }
  Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const override {
    VXLA_CHECK(!fails_(instruction), "a fault that a test wants");
    return lowering_.Lower(instruction, buffers);
  }

 private:
  const Lowering& lowering_;
  Fails fails_;
};

class FaultyDevice : public Device {
 public:
  FaultyDevice(Device& device, FaultyLowering::Fails fails) : device_(device) {
    for (const BindingMode mode : device.binding_modes()) {
      lowerings_.emplace_back(mode, std::make_unique<FaultyLowering>(device.lowering(mode), fails));
    }
  }
  const Lowering& lowering(BindingMode mode) const override {
    for (const auto& [known, lowering] : lowerings_) {
      if (known == mode) return *lowering;
    }
    return device_.lowering(mode);
  }

  const DeviceFacts& facts() const override { return device_.facts(); }
  std::span<const BindingMode> binding_modes() const override { return device_.binding_modes(); }
  Result<std::shared_ptr<Buffer>> Allocate(int64_t size_bytes, MemoryKind kind) override {
    return device_.Allocate(size_bytes, kind);
  }
  MemoryStatistics memory_statistics() const override { return device_.memory_statistics(); }
  // Kernels whose text the test does not want do not compile.
  std::function<bool(const KernelKey&)> refuses = [](const KernelKey&) { return false; };
  Result<std::vector<std::shared_ptr<Kernel>>> GetKernels(BindingMode mode, std::span<const KernelKey* const> keys,
                                                          int* compiled, const KernelProgress& progress) override {
    for (const KernelKey* key : keys) {
      if (refuses(*key)) return Internal("kernel {} does not compile", key->algorithm);
    }
    return device_.GetKernels(mode, keys, compiled, progress);
  }
  Result<std::string> KernelSource(BindingMode mode, const KernelKey& key) const override {
    return device_.KernelSource(mode, key);
  }
  Result<std::unique_ptr<CommandBuffer>> CreateCommandBuffer(int timestamp_count, int queue = 0) override {
    return device_.CreateCommandBuffer(timestamp_count, queue);
  }
  Result<TimePoint> Submit(CommandBuffer& commands, const Moment& after) override {
    return device_.Submit(commands, after);
  }
  Status Wait(const Moment& moment) override { return device_.Wait(moment); }
  bool IsDone(const Moment& moment) override { return device_.IsDone(moment); }
  Result<bool> WaitUntil(const Moment& moment, std::chrono::steady_clock::time_point deadline) override {
    return device_.WaitUntil(moment, deadline);
  }
  Status Upload(std::span<const std::byte> source, Buffer& target, int64_t offset_bytes) override {
    return device_.Upload(source, target, offset_bytes);
  }
  Status Download(Buffer& source, int64_t offset_bytes, std::span<std::byte> target,
                  const Moment& after = {}) override {
    return device_.Download(source, offset_bytes, target, after);
  }
  std::vector<std::string> validation_messages() const override { return device_.validation_messages(); }

 private:
  Device& device_;
  std::vector<std::pair<BindingMode, std::unique_ptr<FaultyLowering>>> lowerings_;
};

}  // namespace VXLA_NAMESPACE::testing
