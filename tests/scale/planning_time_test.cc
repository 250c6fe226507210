// A program of many instructions is planned in seconds, whatever its shape: nothing on the way looks at every pair.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "backend/vulkan/lower/lower.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "scheduler/compile.h"
#include "scheduler/memory/result_copies.h"
#include "tests/scale/programs.h"

namespace VXLA_NAMESPACE {
namespace {

using testing::LargeProgram;
using testing::LargePrograms;

DeviceFacts GpuFacts() {
  DeviceFacts facts;
  facts.name = "made up";
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.int64 = facts.float64 = facts.float16 = true;
  facts.storage16 = facts.storage8 = facts.buffer_addresses = facts.spirv_1_6 = true;
  facts.subgroup_shuffle = true;
  facts.subgroup_size = 32;
  facts.max_workgroup_invocations = 1024;
  facts.max_workgroup_size = {1024, 1024, 64};
  facts.memory_bytes = facts.max_allocation_bytes = uint64_t{1} << 34;
  return facts;
}

// Of this thread: others have the machine too.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Stages {
 public:
  void Note(const char* stage) {
    const double now = CpuSeconds();
    text_ += fmt::format("  {} {:.2f}", stage, now - last_);
    total_ += now - last_;
    last_ = now;
  }
  double total() const { return total_; }
  const std::string& text() const { return text_; }

 private:
  double last_ = CpuSeconds(), total_ = 0;
  std::string text_;
};

// From text to plan, without a device. Seconds of processor time.
double PlanningSeconds(const LargeProgram& program, int size) {
  const std::string text = program.text(size);
  Stages stages;
  auto module = ParseHlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  if (!module.ok()) return 0;
  stages.Note("parse");
  const Status verified = Verify(**module);
  EXPECT_TRUE(verified.ok()) << verified.message();
  stages.Note("verify");
  const DeviceFacts facts = GpuFacts();
  auto optimized = Optimize(**module, TargetOf(facts, BindingMode::kAddresses, true));
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  if (!optimized.ok()) return 0;
  stages.Note("optimize");
  const auto lowering = vulkan::MakeLowering(facts, BindingMode::kAddresses);
  CopySharedResults(**optimized, *lowering);
  const auto plan = MakePlan(**optimized, *lowering, facts, {});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  stages.Note("plan");
  fmt::print("{:12} {:7}: {:6.2f} s{}  ({} dispatches, {} kernels)\n", program.name, size, stages.total(),
             stages.text(), plan.ok() ? plan->dispatch_count() : 0, plan.ok() ? plan->kernels.size() : 0);
  return stages.total();
}

class PlanningTimeTest : public ::testing::TestWithParam<LargeProgram> {};

// 100,000 with VXLA_TEST_LONG, half as many in CI. What looks at every pair takes 64 times as long for eight times as
// many; what does not takes up to 20 times, as the larger program leaves the caches, which whatever else runs shares.
TEST_P(PlanningTimeTest, ManyInstructionsTakeSecondsAndEightTimesAsManyNotThirtyTwoTimesAsLong) {
  const int size = std::getenv("VXLA_TEST_LONG") != nullptr ? 100'000 : 50'000;
  const double eighth = PlanningSeconds(GetParam(), size / 8);
  const double whole = PlanningSeconds(GetParam(), size);
  EXPECT_LT(whole, 30);
  EXPECT_LT(whole, 32 * eighth);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PlanningTimeTest, ::testing::ValuesIn(LargePrograms()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace VXLA_NAMESPACE
