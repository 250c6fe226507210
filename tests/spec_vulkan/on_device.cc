// Runs every program of the specification's tests on the device as well, in both binding modes.
#include "tests/spec/spec_test_support.h"
#include "tests/support/device_test_support.h"

namespace vxla::testing {
namespace {

bool HasDynamicSizes(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->shape().IsDynamic()) return true;
    }
  }
  return false;
}

void RunToo(const Module& module, const std::vector<Literal>& arguments, const Literal& expected) {
  if (HasDynamicSizes(module)) return;  // no plan holds them
  RunOptions options;
  options.allow_fallbacks = true;  // what has no shader runs on the host in the middle of the device's plan
  for (const BindingMode mode : ModesToRun()) {
    const auto actual = RunOnDevice(mode, module, arguments, options);
    if (actual.has_value()) ExpectAgreement(*actual, expected, options, "on the device");
  }
}

const bool installed = (DeviceCheck() = RunToo) != nullptr;

}  // namespace
}  // namespace vxla::testing
