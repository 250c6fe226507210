// Plans for the device of fake_device.h.
#pragma once

#include "core/text/hlo_parser.h"
#include "scheduler/compile.h"
#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE::testing {

// Of what passes made, perhaps. Text that does not parse ends the test program.
inline std::unique_ptr<Module> Parse(std::string_view text) {
  auto module = ParseHlo(text, TextOf::kPasses);
  VXLA_CHECK(module.ok(), module.status().message());
  return std::move(*module);
}

inline Plan PlanOf(Module& module, const FakeDeviceOptions& options = {}) {
  const FakeLowering lowering(std::make_shared<KernelRegistry>());
  auto plan = MakePlan(module, lowering, FakeFacts(options), {});
  VXLA_CHECK(plan.ok(), plan.status().message());
  return *plan;
}

inline Plan PlanOf(std::string_view text, const FakeDeviceOptions& options = {}) {
  return PlanOf(*Parse(text), options);
}

}  // namespace VXLA_NAMESPACE::testing
