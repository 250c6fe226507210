// One function of the shader math as a kernel over arrays of its operands.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/element_kernel.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {

// bool is stored as a word.
template <typename T>
using StoredAs = std::conditional_t<std::is_same_v<T, bool>, uint32_t, T>;

// `name`: a function, or the start of calls within each other, "f(g". `tags`: how LOAD and STORE call the operands'
// types and the result's.
inline KernelKey FunctionKernel(const std::string& name, const std::vector<std::string>& tags, bool gives_bool) {
  const size_t result = tags.size() - 1;
  std::string call = name + "(";
  for (size_t k = 0; k < result; ++k) call += fmt::format("{}LOAD({}, {}, i)", k == 0 ? "" : ", ", k, tags[k]);
  call += std::string(1 + static_cast<size_t>(std::ranges::count(name, '(')), ')');
  if (gives_bool) call = "(" + call + " ? 1u : 0u)";
  return ElementKernel(tags, fmt::format("STORE({}, {}, i, {});", result, tags[result], call), 16);
}

// Its results on the device, and a line with processor times (builds are what takes long). Empty if something failed.
template <typename R, typename... A>
std::vector<StoredAs<R>> ApplyOnDevice(Device& device, const std::string& name, const std::vector<std::string>& tags,
                                     size_t count, const std::vector<A>&... operands) {
  const auto seconds = [](std::clock_t from, std::clock_t to) {
    return static_cast<double>(to - from) / CLOCKS_PER_SEC;
  };
  const std::clock_t begin = std::clock();
  const auto kernel = GetKernel(device, FunctionKernel(name, tags, std::is_same_v<R, bool>));
  if (kernel == nullptr) return {};
  const std::vector<std::shared_ptr<Buffer>> owned = {MakeBuffer(device, operands)...,
                                                      MakeBuffer(device, std::vector<StoredAs<R>>(count))};
  std::vector<BufferRange> buffers;
  for (const auto& buffer : owned) buffers.push_back(Whole(buffer));
  const auto arguments = MakeArguments(device, buffers, {static_cast<uint32_t>(count)});
  auto commands = *device.CreateCommandBuffer(0);
  EXPECT_TRUE(commands->Begin().ok());
  EXPECT_TRUE(
      commands->Dispatch(*kernel, Whole(arguments), buffers, {static_cast<uint32_t>((count + 1023) / 1024), 1, 1})
          .ok());
  EXPECT_TRUE(commands->End().ok());
  RunAndWait(device, *commands);
  const std::clock_t first = std::clock();
  RunAndWait(device, *commands);
  std::printf("%-40s ready after %8.2f ms, %7.2f ns an element\n", name.c_str(), 1e3 * seconds(begin, first),
              1e9 * seconds(first, std::clock()) / static_cast<double>(count));
  return ReadBuffer<StoredAs<R>>(device, *owned.back());
}

// The indices of all devices; 0 where there is none, so that the tests say so.
inline std::vector<int> DeviceIndices() {
  const auto devices = ListDevices();
  std::vector<int> indices(devices.ok() && !devices->empty() ? devices->size() : 1);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int>(i);
  return indices;
}

// The device's first word and its index, so that a test of one driver can be named: "SwiftShader0".
inline std::string DeviceTestName(const testing::TestParamInfo<int>& info) {
  const auto devices = ListDevices();
  std::string name = "Device";
  if (devices.ok() && static_cast<size_t>(info.param) < devices->size()) name = (*devices)[info.param].name;
  const auto end = std::ranges::find_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
  return std::string(name.begin(), end) + std::to_string(info.param);
}

}  // namespace VXLA_NAMESPACE::vulkan
