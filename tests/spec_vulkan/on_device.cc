// Runs every program of the specification's tests on the device as well, in both binding modes, and counts what that
// says: results that kernels computed, and those that the host's steps gave, which are the reference's own.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/spec/spec_test_support.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

struct ResultCounts {
  int64_t kernels = 0;  // of programs all of whose steps are the device's
  int64_t mixed = 0;    // of programs with kernels and host steps
  int64_t host = 0;     // of programs of host steps only
  int64_t moved = 0;    // of programs without a step: parameters and constants
  int64_t dropped = 0;  // of programs with dynamic sizes, which kernels have none of: live_sizes_test.cc runs those
};

// Counted for one mode. The whole suite has a least number of results that kernels computed; part of it has none.
class CountsOfResults : public ::testing::Environment {
 public:
  ResultCounts counts;

  void TearDown() override {
    std::printf(
        "results compared: %lld of kernels alone, %lld of kernels and host steps, %lld of host steps alone, %lld "
        "only moved; %lld dropped\n",
        static_cast<long long>(counts.kernels), static_cast<long long>(counts.mixed),
        static_cast<long long>(counts.host), static_cast<long long>(counts.moved),
        static_cast<long long>(counts.dropped));
    const bool whole = ::testing::GTEST_FLAG(filter) == "*" && std::getenv("GTEST_TOTAL_SHARDS") == nullptr;
    if (whole) {
      EXPECT_GE(counts.kernels, kLeastOfKernels) << "fewer results than before are computed by kernels";
    }
  }

 private:
  static constexpr int64_t kLeastOfKernels = 230;
};
CountsOfResults* const results =
    static_cast<CountsOfResults*>(::testing::AddGlobalTestEnvironment(new CountsOfResults));

void Count(const RunReport& report, int64_t leaves) {
  const bool kernels = report.dispatches > 0, host = !report.fallbacks.empty();
  ResultCounts& counts = results->counts;
  (kernels && host ? counts.mixed : kernels ? counts.kernels : host ? counts.host : counts.moved) += leaves;
}

bool HasDynamicSizes(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const auto& computation) {
    return std::ranges::any_of(computation->instructions(), [](const auto& i) { return i->shape().IsDynamic(); });
  });
}

void RunToo(const Module& module, const std::vector<Literal>& arguments, const Literal& expected) {
  const auto leaves = static_cast<int64_t>(FlattenLiteral(expected).size());
  if (HasDynamicSizes(module)) {
    results->counts.dropped += leaves;
    return;
  }
  RunOptions options;
  options.allow_fallbacks = true;  // what has no shader runs on the host in the middle of the device's plan
  RunReport report;
  options.report = &report;
  for (const BindingMode mode : ModesToRun()) {
    const auto actual = RunOnDevice(mode, module, arguments, options);
    if (!actual.has_value()) continue;
    ExpectAgreement(*actual, expected, options, "on the device");
    for (const Fallback& fallback : report.fallbacks) {
      const auto opcode = ParseOpcode(fallback.opcode);
      EXPECT_TRUE(opcode.has_value() && KindOf(*opcode) != OpcodeKind::kElementwise)
          << fallback.instruction << " (" << fallback.opcode << ") runs on the host: " << fallback.reason;
    }
  }
  Count(report, leaves);
}

const bool installed = (DeviceCheck() = RunToo) != nullptr;

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
