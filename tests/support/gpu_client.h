// A software driver taken for a GPU: what compilation chooses for GPUs alone runs on it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {

// Matrix units that a device is taken to have: its own if it has some, none, or plain code in their place.
enum class MatrixUnits : uint8_t { kOwn, kNone, kStoodInFor };

// Null, and a failed test, where no device opens.
inline std::unique_ptr<Client> GpuClientWith(vulkan::OpenOptions options,
                                             const std::function<void(DeviceFacts&)>& change) {
  options.emulate.gpu = true;
  auto device = OpenTestDevice(options, {}, change);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? MakeTestClient(*device) : nullptr;
}

// Of so many units; 0: it does not say.
inline std::unique_ptr<Client> GpuClientOfUnits(BindingMode mode, uint32_t units) {
  return GpuClientWith(TestOptions(mode), [units](DeviceFacts& facts) { facts.compute_units = units; });
}

inline std::unique_ptr<Client> GpuClient(BindingMode mode, MatrixUnits units = MatrixUnits::kOwn) {
  vulkan::OpenOptions options = TestOptions(mode);
  options.emulate.matrices = units == MatrixUnits::kStoodInFor;
  const auto without_units = [](DeviceFacts& facts) {
    facts.matrices.clear();
    facts.matrix_lanes = 0;
    facts.matrix_rate = 0;
  };
  const bool none = units == MatrixUnits::kNone;
  return GpuClientWith(options, none ? std::function<void(DeviceFacts&)>(without_units) : nullptr);
}

// The program's value there twice, the same both times; `most` dispatches at most.
inline void ExpectOnGpu(Client& client, const Module& module, const std::vector<Literal>& arguments,
                        const RunOptions& options, int most, const Literal& expected) {
  auto executable = client.Compile(module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_LE((*executable)->plan().dispatch_count(), most);
  EXPECT_TRUE((*executable)->fallbacks().empty());
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  auto first = (*executable)->Run(pointers), second = (*executable)->Run(pointers);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(second.ok()) << second.status().message();
  ExpectAgreement(*first, expected, options, "first run");
  const auto a = FlattenLiteral(*first), b = FlattenLiteral(*second);
  for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(Compare(*a[k], *b[k], Tolerance{}).differing, 0);
}

}  // namespace VXLA_NAMESPACE::testing
