// Devices and kernels for the tests of the Vulkan device layer: whole GLSL texts, no codegen, no lowering.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE::vulkan {

// A folder below the test's temporary folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Hooks whose algorithms are whole texts: the key's `generated` is the kernel's GLSL.
DeviceHooks TextHooks();

// Fails the test if the validation layers that VXLA_TEST_VALIDATE asks for have spoken, the device's end included.
struct WatchedDelete {
  bool expect_silence = false;
  void operator()(VulkanDevice* device) const;
};
using TestDevice = std::unique_ptr<VulkanDevice, WatchedDelete>;

// Opens device `index` with a cache folder shared by this test program; fails the test if that does not work.
TestDevice OpenForTest(OpenOptions options = {}, int index = 0);
std::string SharedCacheFolder();

// out[i] = in[i] * param[1] + param[2] for i < param[0]; two buffers, three parameters, workgroup size by constants 0
// to 2.
KernelKey ScaleKernel(BindingMode mode, uint32_t workgroup = 64, bool in_parts = false);

// The beginning of a test kernel in either binding mode: LOAD(k, i), STORE(k, i, value), PARAM(i) of 32-bit words.
std::string KernelPrelude(BindingMode mode, uint32_t buffer_count, uint32_t param_count, bool in_parts = false);

// The argument block that the contract of backend/step.h describes.
std::shared_ptr<Buffer> MakeArguments(Device& device, const std::vector<BufferRange>& buffers,
                                      const std::vector<uint32_t>& params);

std::shared_ptr<Kernel> GetKernel(Device& device, const KernelKey& key, int* compiled = nullptr);

template <typename T>
std::shared_ptr<Buffer> MakeBuffer(Device& device, const std::vector<T>& values) {
  auto buffer = device.Allocate(static_cast<int64_t>(values.size() * sizeof(T)), MemoryKind::kDevice);
  EXPECT_TRUE(buffer.ok()) << buffer.status().message();
  if (!buffer.ok()) return nullptr;
  const Status status = device.Upload(std::as_bytes(std::span<const T>(values)), **buffer, 0);
  EXPECT_TRUE(status.ok()) << status.message();
  return *buffer;
}

template <typename T>
std::vector<T> ReadBuffer(Device& device, Buffer& buffer) {
  std::vector<T> values(static_cast<size_t>(buffer.size_bytes()) / sizeof(T));
  const Status status = device.Download(buffer, 0, std::as_writable_bytes(std::span<T>(values)));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

inline BufferRange Whole(const std::shared_ptr<Buffer>& buffer) { return {buffer.get(), 0, buffer->size_bytes()}; }

// A device test runs on each device present in each binding mode; without a driver it runs on device 0 and fails.
struct DeviceCase {
  int index = 0;
  BindingMode mode = BindingMode::kAddresses;
};
std::vector<DeviceCase> DeviceCases(std::initializer_list<BindingMode> modes = {BindingMode::kAddresses,
                                                                                BindingMode::kDescriptors});
std::string CaseName(const ::testing::TestParamInfo<DeviceCase>& info);

class DeviceTest : public ::testing::TestWithParam<DeviceCase> {
 protected:
  OpenOptions Options() const {
    OpenOptions options;
    options.bindings = GetParam().mode;
    return options;
  }
  TestDevice Open(const OpenOptions& options) { return OpenForTest(options, GetParam().index); }
  TestDevice Open() { return Open(Options()); }
};

// 0, 1, ... count - 1.
std::vector<uint32_t> Iota(size_t count);

// Runs ScaleKernel over `values` in one submission and returns what it wrote.
std::vector<uint32_t> RunScale(Device& device, const std::vector<uint32_t>& values, uint32_t factor, uint32_t summand);

// Submits and waits; fails the test if that does not work.
void RunAndWait(Device& device, CommandBuffer& commands);

inline std::string ModeName(BindingMode mode) { return mode == BindingMode::kAddresses ? "addresses" : "descriptors"; }

}  // namespace VXLA_NAMESPACE::vulkan

#define VXLA_ASSERT_OK(EXPRESSION)                  \
  do {                                              \
    const ::vxla::Status checked = (EXPRESSION);    \
    ASSERT_TRUE(checked.ok()) << checked.message(); \
  } while (false)
