// Running HLO text on several devices of the reference.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/devices/replica_groups.h"
#include "core/numerics/literal_compare.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/device_merger.h"
#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"
#include "tests/support/merged_results.h"

namespace VXLA_NAMESPACE::testing {

// arguments[d] are device d's; one entry for all devices alike.
inline Result<std::vector<Literal>> TryRunReplicas(const std::string& text, const DeviceGrid& grid,
                                                   const std::vector<std::vector<Literal>>& arguments,
                                                   EvaluateOptions options = {}) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseHlo(text));
  VXLA_RETURN_IF_ERROR(Verify(*module));
  std::vector<std::vector<const Literal*>> pointers(static_cast<size_t>(grid.count()));
  for (size_t d = 0; d < pointers.size(); ++d) {
    for (const Literal& argument : arguments[arguments.size() == 1 ? 0 : d]) pointers[d].push_back(&argument);
  }
  return EvaluateReplicated(*module, grid, pointers, options);
}

// The same devices as one program of one device (core/passes/devices/device_merger.h): the same results, but for the
// rounding of sums.
inline void ExpectMergedAgrees(const std::string& text, const DeviceGrid& grid,
                               const std::vector<std::vector<Literal>>& arguments,
                               const std::vector<Literal>& expected) {
  const auto module = ParseHlo(text);
  ASSERT_TRUE(module.ok());
  std::vector<bool> shared;
  for (size_t p = 0; p < (*module)->entry()->parameters().size(); ++p) {
    shared.push_back(arguments.size() == 1 && p % 2 == 0);
  }
  const Result<MergedProgram> merged = MergeDevices(**module, grid, shared);
  ASSERT_TRUE(merged.ok()) << merged.status().message() << "\n" << text;
  const Status valid = Verify(*merged->module);
  ASSERT_TRUE(valid.ok()) << valid.message() << "\n" << text;
  std::vector<const Literal*> pointers;
  for (const auto& [device, parameter] : merged->parameters) {
    pointers.push_back(
        &arguments[arguments.size() == 1 ? 0 : static_cast<size_t>(device)][static_cast<size_t>(parameter)]);
  }
  const Result<Literal> result = Evaluate(*merged->module, pointers, {});
  ASSERT_TRUE(result.ok()) << result.status().message() << "\n" << text;
  const auto leaves = LeavesByDevice(*merged, *result);
  ASSERT_TRUE(leaves.ok()) << leaves.status().message();
  ASSERT_EQ(leaves->size(), expected.size());
  for (size_t d = 0; d < expected.size(); ++d) {
    const auto want = FlattenLiteral(expected[d]), got = (*leaves)[d];
    ASSERT_EQ(want.size(), got.size());
    for (size_t k = 0; k < want.size(); ++k) {
      if (!want[k]->shape().IsArray()) continue;
      const auto comparison = Compare(*got[k], *want[k], Tolerance::DefaultFor(*want[k]));
      EXPECT_TRUE(comparison.agrees()) << "device " << d << " result " << k << "\n" << text;
    }
  }
}

inline std::vector<Literal> RunReplicas(const std::string& text, const DeviceGrid& grid,
                                        const std::vector<std::vector<Literal>>& arguments,
                                        EvaluateOptions options = {}) {
  // Functions may count their calls, and what a host has given or taken is not given again.
  const HostTransfers& host = options.host;
  const bool plain =
      options.custom_calls == nullptr && !host.infeed && !host.outfeed && !host.send_to_host && !host.recv_from_host;
  Result<std::vector<Literal>> results = TryRunReplicas(text, grid, arguments, std::move(options));
  if (results.ok() && plain) ExpectMergedAgrees(text, grid, arguments, *results);
  if (results.ok()) return *std::move(results);
  ADD_FAILURE() << results.status().message() << "\n" << text;
  return std::vector<Literal>(static_cast<size_t>(grid.count()));
}

// The failure's message, and that it came within a time that a waiting device would not allow.
inline std::string FailureOf(const std::string& text, const DeviceGrid& grid,
                             const std::vector<std::vector<Literal>>& arguments, EvaluateOptions options = {}) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::vector<Literal>> results = TryRunReplicas(text, grid, arguments, std::move(options));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  if (!results.ok()) return results.status().message();
  ADD_FAILURE() << "no failure\n" << text;
  return {};
}

// Why they are not compiled as one program of one device.
inline Status RefusalOfMerging(const std::string& text, const DeviceGrid& grid) {
  const auto module = ParseHlo(text);
  EXPECT_TRUE(module.ok());
  return module.ok() ? MergeDevices(**module, grid, {}).status() : module.status();
}

}  // namespace VXLA_NAMESPACE::testing
