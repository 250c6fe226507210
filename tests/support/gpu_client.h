// A software driver taken for a GPU: what compilation chooses for GPUs alone runs on it.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "scheduler/plan.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {

// Null, and a failed test, where no device opens.
// `matrices`: one that has matrix units, with plain code in their place.
inline std::unique_ptr<Client> GpuClient(BindingMode mode, bool matrices = false) {
  vulkan::OpenOptions options = TestOptions(mode);
  options.emulate.gpu = true;
  options.emulate.matrices = matrices;
  auto device = OpenTestDevice(options);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? MakeTestClient(*device) : nullptr;
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
