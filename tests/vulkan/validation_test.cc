// Validation layers, and machines without Vulkan.
#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>

#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ValidationDeviceTest : public DeviceTest {
 protected:
  // Two dispatches where the second reads what the first wrote.
  void RunDependent(Device& device, bool barrier) {
    const auto kernel = GetKernel(device, ScaleKernel(GetParam().mode));
    const auto a = MakeBuffer(device, Iota(64)), b = MakeBuffer(device, Iota(64));
    const std::vector<BufferRange> there = {Whole(a), Whole(b)}, back = {Whole(b), Whole(a)};
    const auto arguments = MakeArguments(device, there, {64, 1, 1}), returned = MakeArguments(device, back, {64, 1, 1});
    auto commands = *device.CreateCommandBuffer(2);
    VXLA_ASSERT_OK(commands->Begin());
    commands->WriteTimestamp(0);
    VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), there, {1, 1, 1}));
    if (barrier) commands->Barrier();
    VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(returned), back, {1, 1, 1}));
    commands->WriteTimestamp(1);
    VXLA_ASSERT_OK(commands->End());
    RunAndWait(device, *commands);
  }
};
INSTANTIATE_TEST_SUITE_P(All, ValidationDeviceTest, ::testing::ValuesIn(DeviceCases()), CaseName);

// The layer cannot see through addresses.
class ValidationDescriptorsTest : public ValidationDeviceTest {};
INSTANTIATE_TEST_SUITE_P(All, ValidationDescriptorsTest, ::testing::ValuesIn(DeviceCases({BindingMode::kDescriptors})),
                         CaseName);

TEST_P(ValidationDeviceTest, CoreAndSynchronizationAreClean) {
  OpenOptions options = Options();
  options.validate_core = options.validate_sync = true;
  options.cache = false;  // so that the probes run too
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  RunDependent(*device, true);
  const auto a = MakeBuffer(*device, Iota(64));
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  commands->Fill(Whole(a), 1);
  commands->Barrier();
  commands->Copy({a.get(), 0, 128}, {a.get(), 128, 128});
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST_P(ValidationDeviceTest, StagingIsClean) {
  OpenOptions options = Options();
  options.validate_core = options.validate_sync = true;
  options.pretend = PretendedMemory::kInvisible;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  const std::vector<uint32_t> values = Iota(6 << 20);
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *MakeBuffer(*device, values)), values);
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST_P(ValidationDescriptorsTest, AMissingBarrierIsFound) {
  OpenOptions options = Options();
  options.validate_sync = true;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  RunDependent(*device, false);
  const auto messages = device->validation_messages();
  ASSERT_THAT(messages, Not(IsEmpty()));
  EXPECT_THAT(messages[0], HasSubstr("SYNC-HAZARD"));
}

// One element past a buffer; the memory behind it exists, so nothing crashes.
TEST_P(ValidationDeviceTest, GpuAssistedChecksSeeBounds) {
  OpenOptions options = Options();
  options.validate_core = options.validate_gpu = true;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  if (GetParam().mode == BindingMode::kAddresses && !device->facts().int64) {
    GTEST_SKIP() << device->facts().name << " lacks shaderInt64, which GPU-assisted checks of addresses need";
  }
  RunDependent(*device, true);
  EXPECT_THAT(device->validation_messages(), IsEmpty());
  KernelKey key = ScaleKernel(GetParam().mode);
  key.generated =
      KernelPrelude(GetParam().mode, 2, 3) +
      "void main() {\n  if (gl_LocalInvocationIndex == 0) STORE(1, PARAM(0), LOAD(0, 0) + PARAM(1) + PARAM(2));\n}\n";
  const auto kernel = GetKernel(*device, key);
  const auto a = MakeBuffer(*device, Iota(64)), b = MakeBuffer(*device, Iota(64));
  const std::vector<BufferRange> buffers = {Whole(a), Whole(b)};
  const auto arguments = MakeArguments(*device, buffers, {64, 1, 1});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), buffers, {1, 1, 1}));
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  EXPECT_THAT(device->validation_messages(), Not(IsEmpty()));
}

TEST(NoVulkanTest, NoLoaderIsAnErrorThatSaysSo) {
  OpenOptions options;
  options.loader_path = "/nonexistent/libvulkan.so.1";
  const Status status = OpenDeviceWith(0, options, TextHooks()).status();
  EXPECT_EQ(status.code(), StatusCode::kDeviceFailure);
  EXPECT_THAT(status.message(), HasSubstr("no Vulkan loader (/nonexistent/libvulkan.so.1)"));
  options.loader_path = "libm.so.6";
  EXPECT_THAT(OpenDeviceWith(0, options, TextHooks()).status().message(), HasSubstr("is no Vulkan loader"));
}

// Each runs in a process of its own, as drivers and layers are found once per process.
void ReportAndExit(const Status& status) {
  std::cerr << static_cast<int>(status.code()) << " " << status.message() << "\n";
  std::exit(status.code() == StatusCode::kDeviceFailure ? 7 : 0);
}

TEST(NoVulkanDeathTest, NoDriverIsAnErrorThatSaysSo) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("VK_DRIVER_FILES", "/nonexistent/icd.json", 1);
        setenv("VK_ICD_FILENAMES", "/nonexistent/icd.json", 1);
        ReportAndExit(OpenDeviceWith(
                          0,
                          [] {
                            OpenOptions options;
                            options.loader_path = "libvulkan.so.1";
                            return options;
                          }(),
                          TextHooks())
                          .status());
      },
      ::testing::ExitedWithCode(7), "no Vulkan (driver|device)");
}

TEST(NoVulkanDeathTest, AMissingLayerNamesItsPackage) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("VK_LAYER_PATH", "/nonexistent", 1);
        OpenOptions options;
        options.validate_core = true;
        ReportAndExit(OpenDeviceWith(0, options, TextHooks()).status());
      },
      ::testing::ExitedWithCode(7), "apt install vulkan-validationlayers");
}

TEST(OpenDeviceTest, RejectsAnIndexBeyondTheDevices) {
  const Status status = OpenDeviceWith(99, {}, TextHooks()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("device 99: there are"));
}

TEST(ListDevicesTest, AgreesWithTheOpenedDevices) {
  const auto listed = ListDevices();
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  for (size_t i = 0; i < listed->size(); ++i) {
    const auto device = OpenForTest({}, static_cast<int>(i));
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(device->facts().name, (*listed)[i].name);
    EXPECT_EQ(device->facts().device_uuid, (*listed)[i].device_uuid);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
