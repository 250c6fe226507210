// The device as the scheduler uses it: memory, kernels, commands, the timeline; on each driver present, in both binding
// modes.
#include <gmock/gmock.h>

#include <thread>

#include "tests/vulkan/vulkan_test_support.h"

namespace vxla::vulkan {
namespace {

using ::testing::HasSubstr;

class DeviceTest : public ::testing::TestWithParam<BindingMode> {
 protected:
  OpenOptions Options() const {
    OpenOptions options;
    options.bindings = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Bindings, DeviceTest, ::testing::Values(BindingMode::kAddresses, BindingMode::kDescriptors),
                         [](const auto& info) { return ModeName(info.param); });

std::vector<uint32_t> Iota(size_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

// Runs scale over `values` and returns the result; `wait` the submission.
std::vector<uint32_t> Scale(Device& device, const std::vector<uint32_t>& values, uint32_t factor, uint32_t summand) {
  const auto kernel = GetKernel(device, ScaleKernel(device.binding_mode()));
  const auto in = MakeBuffer(device, values);
  const auto out = MakeBuffer(device, std::vector<uint32_t>(values.size(), 7));
  const auto count = static_cast<uint32_t>(values.size());
  const std::vector<BufferRange> buffers = {Whole(in), Whole(out)};
  const auto arguments = MakeArguments(device, buffers, {count, factor, summand});
  auto commands = device.CreateCommandBuffer(0);
  EXPECT_TRUE(commands.ok()) << commands.status().message();
  EXPECT_TRUE((*commands)->Begin().ok());
  const Status status = (*commands)->Dispatch(*kernel, Whole(arguments), buffers, {(count + 63) / 64, 1, 1});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE((*commands)->End().ok());
  const auto value = device.Submit(**commands, 0);
  EXPECT_TRUE(value.ok()) << value.status().message();
  EXPECT_TRUE(device.Wait(*value).ok());
  return ReadBuffer<uint32_t>(device, *out);
}

TEST_P(DeviceTest, RunsAKernel) {
  const auto device = OpenForTest(Options());
  ASSERT_NE(device, nullptr);
  const std::vector<uint32_t> values = Iota(1009);
  const std::vector<uint32_t> got = Scale(*device, values, 3, 5);
  ASSERT_EQ(got.size(), values.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], values[i] * 3 + 5) << i;
}

}  // namespace
}  // namespace vxla::vulkan
