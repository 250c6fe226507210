// Fused loops on a device with grids of groups that no ordinary tensor needs.
#include <fmt/format.h>

#include <map>

#include "backend/vulkan/device/open.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/lower/lower.h"
#include "core/text/hlo_parser.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class FusedLoopDeviceTest : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Devices, FusedLoopDeviceTest, ::testing::ValuesIn(DeviceCases()), CaseName);

class OneBufferEach : public BufferMap {
 public:
  BufferSlice SliceOf(const Instruction& instruction, int leaf) override {
    const int64_t bytes = FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf))->SizeBytes();
    const auto [it, fresh] = numbers_.emplace(std::pair(&instruction, leaf), static_cast<int>(bytes_.size()));
    if (fresh) bytes_.push_back(bytes);
    return {it->second, 0, bytes};
  }
  BufferSlice Scratch(int64_t bytes) override {
    bytes_.push_back(bytes);
    return {static_cast<int>(bytes_.size()) - 1, 0, bytes};
  }
  BufferSlice Constant(std::vector<uint32_t> words) override { return Scratch(static_cast<int64_t>(4 * words.size())); }

 private:
  std::map<std::pair<const Instruction*, int>, int> numbers_;
  std::vector<int64_t> bytes_;
};

// Runs not(iota) over `count` bytes as a GPU would, with `most_groups` along x, and returns how many bytes are wrong.
int64_t WrongBytes(Device& device, int64_t count, uint32_t most_groups, std::array<uint32_t, 3>* groups) {
  const auto module = ParseHlo(
      fmt::format("HloModule m\nENTRY main {{\n  a = u8[{0}] parameter(0)\n  ROOT r = u8[{0}] not(a)\n}}\n", count));
  DeviceFacts facts = device.facts();
  PretendGpu(facts);
  facts.max_group_count[0] = most_groups;
  OneBufferEach map;
  const Instruction& root = *(*module)->entry()->root();
  map.SliceOf(*root.operand(0), 0);  // buffer 0, the result buffer 1
  const auto steps = MakeLowering(facts, device.binding_mode())->Lower(root, map);
  const Step& step = steps->at(0);
  *groups = step.groups;
  std::vector<uint8_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 + i / 256);
  const std::vector<std::shared_ptr<Buffer>> buffers = {MakeBuffer(device, values),
                                                        MakeBuffer(device, std::vector<uint8_t>(values.size(), 1))};
  std::vector<BufferRange> ranges;
  for (const Binding& binding : step.bindings)
    ranges.push_back(Whole(buffers[static_cast<size_t>(binding.slice.buffer)]));
  const auto arguments = MakeArguments(device, ranges, step.params);
  const auto kernel = GetKernel(device, step.kernel);
  auto commands = device.CreateCommandBuffer(0);
  EXPECT_TRUE((*commands)->Begin().ok() &&
              (*commands)->Dispatch(*kernel, Whole(arguments), ranges, {step.groups}).ok());
  EXPECT_TRUE((*commands)->End().ok());
  RunAndWait(device, **commands);
  const auto results = ReadBuffer<uint8_t>(device, *buffers[1]);
  int64_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) wrong += results[i] != static_cast<uint8_t>(~values[i]);
  return wrong;
}

TEST_P(FusedLoopDeviceTest, LoopsOfSeveralRowsOfGroupsReachEveryElement) {
  auto opened = OpenDevice(GetParam().index, Options());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::array<uint32_t, 3> groups{};
  for (int64_t count : {int64_t{1}, int64_t{6143}, int64_t{100003}}) {
    EXPECT_EQ(WrongBytes(**opened, count, 7, &groups), 0) << count;
  }
  EXPECT_GT(groups[1], 1u);
}

TEST_P(FusedLoopDeviceTest, LoopsOfMoreThan65535GroupsReachEveryElement) {
  auto opened = OpenDevice(GetParam().index, Options());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::array<uint32_t, 3> groups{};
  EXPECT_EQ(WrongBytes(**opened, 68000003, 65535, &groups), 0);
  EXPECT_GT(int64_t{groups[0]} * groups[1], 65535);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
