#include "tools/bench/kernels.h"

#include <gtest/gtest.h>

#include "api/devices.h"
#include "tools/bench/cases.h"

namespace VXLA_NAMESPACE {
namespace {

TEST(BenchKernelsTest, EveryHandWrittenKernelCompiles) {
  DeviceOptions options;
  options.device = "lavapipe";
  const auto device = OpenDevice(options);
  ASSERT_TRUE(device.ok()) << device.status().message();
  std::vector<std::string> names{vulkan::kArithmeticPeak};
  for (const BenchCase& each : BenchCases()) names.push_back(each.name);
  int cases = 0;
  for (const std::string& name : names) {
    std::vector<const KernelKey*> keys;
    const std::vector<vulkan::BenchKernel> kernels = vulkan::BenchKernels(name, (*device)->facts());
    for (const vulkan::BenchKernel& kernel : kernels) {
      for (const Step& step : kernel.steps) keys.push_back(&step.kernel);
    }
    if (!keys.empty()) ++cases;
    int compiled = 0;
    const auto made = (*device)->GetKernels((*device)->binding_mode(), keys, &compiled);
    EXPECT_TRUE(made.ok()) << name << ": " << made.status().message();
  }
  EXPECT_EQ(cases, 9);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
