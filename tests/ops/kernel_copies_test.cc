// Copies of much memory by kernels, where the driver's own are slow (DeviceFacts::Costs::slow_copies).
#include <gtest/gtest.h>

#include "scheduler/bundle/bundle.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/runtime/commands/recording.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace kernel_copies_test {

// Updates of arguments, which are copied first: 200,004 bytes, no whole number of groups of 16, and 404.
constexpr char kUpdates[] = R"(HloModule updates
ENTRY main {
  large = f32[50001] parameter(0)
  small = f32[101] parameter(1)
  u = f32[3] parameter(2)
  at = s32[] parameter(3)
  l = f32[50001] dynamic-update-slice(large, u, at)
  s = f32[101] dynamic-update-slice(small, u, at)
  ROOT r = (f32[50001], f32[101]) tuple(l, s)
})";
constexpr int64_t kLarge = 50001, kAt = 98;

class KernelCopiesTest : public ::testing::TestWithParam<BindingMode> {
 protected:
  void SetUp() override {
    vulkan::OpenOptions options = TestOptions(GetParam());
    options.emulate.gpu = true;
    options.emulate.family = GpuFamily::kNvidia;
    const auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    if (!(*device)->facts().costs.slow_copies) GTEST_SKIP() << (*device)->facts().name << " copies fast itself";
    client_ = MakeTestClient(*device);
    module_ = ParseModule(kUpdates);
    ASSERT_NE(module_, nullptr);
    arguments_ = RandomArguments(*module_);
    arguments_.back() = Literal::ScalarInt(ElementType::kS32, kAt);
    for (const Literal& argument : arguments_) pointers_.push_back(&argument);
    const auto expected = RunOnCpu(*module_, arguments_);
    ASSERT_TRUE(expected);
    expected_ = *expected;
    auto executable = client_->Compile(*module_);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    executable_ = *executable;
  }

  std::unique_ptr<Client> client_;
  std::unique_ptr<Module> module_;
  std::vector<Literal> arguments_;
  std::vector<const Literal*> pointers_;
  Literal expected_;
  std::shared_ptr<Executable> executable_;
};

INSTANTIATE_TEST_SUITE_P(Modes, KernelCopiesTest, ::testing::Values(BindingMode::kAddresses, BindingMode::kDescriptors),
                         [](const auto& info) {
                           return info.param == BindingMode::kAddresses ? "Addresses" : "Descriptors";
                         });

// By buffer, of the steps whose whole work is a copy; and of the driver's copies.
struct CopiedBytes {
  std::vector<int64_t> by_kernels, by_driver;
};
CopiedBytes CopiesOf(const Plan& plan) {
  CopiedBytes copied;
  for (const Step& step : plan.steps) {
    if (step.name.starts_with("copy to ")) copied.by_kernels.push_back(step.bindings.back().slice.size_bytes);
  }
  for (const Segment& segment : plan.segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    if (gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands) {
      if (const auto* copy = std::get_if<CopyBytes>(&command)) copied.by_driver.push_back(copy->source.size_bytes);
    }
  }
  return copied;
}

TEST_P(KernelCopiesTest, KernelsCopyWhatIsLarge) {
  const CopiedBytes copied = CopiesOf(executable_->plan());
  EXPECT_EQ(copied.by_kernels, std::vector<int64_t>{4 * kLarge}) << ToText(executable_->plan());
  EXPECT_EQ(copied.by_driver, std::vector<int64_t>{404}) << ToText(executable_->plan());
  for (int run = 0; run < 2; ++run) {
    const auto result = executable_->Run(pointers_);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ExpectAgreement(*result, expected_, {.tolerance = Tolerance{}}, "copies by kernels");
  }
}

TEST_P(KernelCopiesTest, SoTheyDoInBundles) {
  BundleBuilder builder;
  const Status added = builder.Add(*executable_, client_->device(), false);
  ASSERT_TRUE(added.ok()) << added.message();
  const std::string file = builder.Finish("a test");
  auto loaded = client_->Load(std::as_bytes(std::span(file)));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(CopiesOf((*loaded)->plan()).by_kernels, std::vector<int64_t>{4 * kLarge});
  const auto result = (*loaded)->Run(pointers_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ExpectAgreement(*result, expected_, {.tolerance = Tolerance{}}, "copies by kernels of a bundle");
}

TEST_P(KernelCopiesTest, AndInACallersCommandBuffer) {
  std::vector<Argument> uploaded;
  std::vector<BoundBuffer> arguments, results;
  const auto bind = [](std::span<const DeviceBuffer> values, std::vector<BoundBuffer>& bound) {
    for (const DeviceBuffer& value : values) bound.push_back({&value.memory()->buffer(), value.memory()->number()});
  };
  for (const Literal& value : arguments_) {
    auto leaves = client_->Upload(value);
    ASSERT_TRUE(leaves.ok()) << leaves.status().message();
    bind(*leaves, arguments);
    uploaded.emplace_back(std::move(*leaves)).keep = true;
  }
  // Memory for the results: those of a run.
  auto execution = executable_->Execute(uploaded);
  ASSERT_TRUE(execution.ok()) << execution.status().message();
  ASSERT_TRUE(execution->Wait().ok());
  bind(execution->leaves, results);
  Device& device = client_->device();
  std::vector<std::byte> actual(static_cast<size_t>(4 * kLarge), std::byte{0x55});
  ASSERT_TRUE(device.Upload(actual, *results[0].buffer, 0).ok());
  auto recording = Recording::Create(executable_, {});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  auto commands = device.CreateCommandBuffer(0);
  ASSERT_TRUE(commands.ok());
  ASSERT_TRUE((*commands)->Begin().ok());
  (*recording)->Bind(arguments, results);
  ASSERT_TRUE((*recording)->Record(**commands).ok());
  ASSERT_TRUE((*commands)->End().ok());
  const auto done = device.Submit(**commands, {});
  ASSERT_TRUE(done.ok()) << done.status().message();
  ASSERT_TRUE(device.Wait(*done).ok());
  ASSERT_TRUE(device.Download(*results[0].buffer, 0, actual, {}).ok());
  EXPECT_TRUE(std::ranges::equal(actual, expected_.tuple_elements()[0].bytes()));
}

}  // namespace kernel_copies_test
}  // namespace VXLA_NAMESPACE::testing
