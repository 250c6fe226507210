// Runs the root of a program as lowered for made-up device facts on a real device, so that the kernels for GPUs are
// tested on software drivers too.
#pragma once

#include <cstring>
#include <map>

#include "backend/cpu/reference/evaluator.h"
#include "backend/device.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/lower/lower.h"
#include "core/ir/module.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {

// Every value and every scratch buffer is device memory of its own.
class DeviceBuffers : public BufferMap {
 public:
  explicit DeviceBuffers(Device& device) : device_(device) {}
  BufferSlice SliceOf(const Instruction& instruction, int leaf) override {
    const auto [it, fresh] = slices_.emplace(std::pair(&instruction, leaf), static_cast<int>(buffers.size()));
    const int64_t bytes = FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf))->SizeBytes();
    if (fresh) Add(bytes);
    return {it->second, 0, bytes};
  }
  BufferSlice Scratch(int64_t size_bytes) override {
    Add(size_bytes);
    return {static_cast<int>(buffers.size()) - 1, 0, size_bytes};
  }
  BufferSlice Constant(std::vector<uint32_t> words) override {
    const BufferSlice slice = Scratch(static_cast<int64_t>(4 * words.size()));
    const Status status = device_.Upload(std::as_bytes(std::span(words)), *buffers.back(), 0);
    EXPECT_TRUE(status.ok()) << status.message();
    return slice;
  }
  std::vector<std::shared_ptr<Buffer>> buffers;

 private:
  void Add(int64_t bytes) {
    auto buffer = device_.Allocate(std::max<int64_t>(bytes, 16), MemoryKind::kDevice);
    EXPECT_TRUE(buffer.ok()) << buffer.status().message();
    buffers.push_back(buffer.ok() ? *buffer : nullptr);
  }
  Device& device_;
  std::map<std::pair<const Instruction*, int>, int> slices_;
};

inline Status RunSteps(Device& device, const std::vector<Step>& steps, DeviceBuffers& memory) {
  for (const Step& step : steps) {
    std::vector<std::byte> block(8 * step.bindings.size() + 4 * step.params.size() + 16);
    std::vector<BufferRange> ranges;
    for (size_t k = 0; k < step.bindings.size(); ++k) {
      const BufferSlice& slice = step.bindings[k].slice;
      Buffer& buffer = *memory.buffers.at(static_cast<size_t>(slice.buffer));
      const uint64_t address = buffer.device_address() + static_cast<uint64_t>(slice.offset_bytes);
      std::memcpy(block.data() + 8 * k, &address, 8);
      ranges.push_back({&buffer, slice.offset_bytes, slice.size_bytes});
    }
    if (!step.params.empty())
      std::memcpy(block.data() + 8 * step.bindings.size(), step.params.data(), 4 * step.params.size());
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> arguments,
                          device.Allocate(static_cast<int64_t>(block.size()), MemoryKind::kUpload));
    VXLA_RETURN_IF_ERROR(device.Upload(block, *arguments, 0));
    const KernelKey* key = &step.kernel;
    int compiled = 0;
    VXLA_ASSIGN_OR_RETURN(auto kernels, device.GetKernels(device.binding_mode(), std::span(&key, 1), &compiled));
    VXLA_ASSIGN_OR_RETURN(auto commands, device.CreateCommandBuffer(0));
    VXLA_RETURN_IF_ERROR(commands->Begin());
    VXLA_RETURN_IF_ERROR(commands->Dispatch(*kernels[0], {arguments.get(), 0, static_cast<int64_t>(block.size()) - 16},
                                            ranges, {step.groups}));
    VXLA_RETURN_IF_ERROR(commands->End());
    VXLA_ASSIGN_OR_RETURN(const TimePoint done, device.Submit(*commands, {}));
    VXLA_RETURN_IF_ERROR(device.Wait(done));
  }
  return OkStatus();
}

// The entry's root, whose operands are parameters or constants, lowered by `lower` and run; compared with the CPU
// reference. Returns the number of steps.
template <typename Lower>
int ExpectLoweredByAgrees(const std::string& text, BindingMode mode, Lower&& lower) {
  Client* client = DeviceClient(mode);
  if (client == nullptr) return 0;
  Device& device = client->device();
  const auto module = ParseModule(text);
  if (module == nullptr) return 0;
  const std::vector<Literal> arguments = RandomArguments(*module);
  const Instruction& root = *module->entry()->root();
  DeviceBuffers memory(device);
  for (const Instruction* operand : root.operands()) {
    const Literal& value = operand->opcode() == Opcode::kConstant
                               ? operand->literal()
                               : arguments.at(static_cast<size_t>(operand->parameter_number()));
    const BufferSlice slice = memory.SliceOf(*operand, 0);
    if (value.bytes().empty()) continue;
    const Status status = device.Upload(value.bytes(), *memory.buffers.at(static_cast<size_t>(slice.buffer)), 0);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Result<std::vector<Step>> steps = lower(root, memory);
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  if (!steps.ok()) return 0;
  const Status ran = RunSteps(device, *steps, memory);
  EXPECT_TRUE(ran.ok()) << ran.message();
  const auto expected = RunOnCpu(*module, arguments);
  if (!expected) return 0;
  std::vector<Literal> leaves;
  const auto shapes = FlattenTuple(root.shape());
  for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
    leaves.emplace_back(*shapes[leaf]);
    if (leaves.back().bytes().empty()) continue;
    const BufferSlice slice = memory.SliceOf(root, static_cast<int>(leaf));
    const Status status =
        device.Download(*memory.buffers.at(static_cast<size_t>(slice.buffer)), 0, leaves.back().mutable_bytes());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ExpectAgreement(UnflattenLiteral(root.shape(), leaves), *expected, {}, text);
  return static_cast<int>(steps->size());
}

// The same with the lowering for other facts.
inline int ExpectLoweredAgrees(const std::string& text, BindingMode mode, const DeviceFacts& facts) {
  const auto lowering = vulkan::MakeLowering(facts, mode);
  return ExpectLoweredByAgrees(
      text, mode, [&](const Instruction& root, BufferMap& memory) { return lowering->Lower(root, memory); });
}

// The device's facts as if it were a GPU.
inline DeviceFacts AsGpu(BindingMode mode) {
  DeviceFacts facts = DeviceClient(mode)->device().facts();
  vulkan::PretendGpu(facts);
  return facts;
}

}  // namespace VXLA_NAMESPACE::testing
