// How steps are cut under a time budget, without a device.
#include "scheduler/plan/work_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace VXLA_NAMESPACE {
namespace scheduler_work_limit_test {

DeviceFacts Facts(double budget_seconds) {
  DeviceFacts facts;
  facts.float64 = facts.int64 = true;
  facts.work_budget_seconds = budget_seconds;
  facts.flop_per_second = facts.bytes_per_second = 1e9;
  return facts;
}

Step MakeStep(std::array<uint32_t, 3> groups, int64_t flop) {
  Step step;
  step.groups = groups;
  step.flop = flop;
  return step;
}

TEST(WorkLimitTest, AStepIsCutIntoAsManyPartsAsItsTimeTakesBudgets) {
  const Step step = MakeStep({1000, 1, 1}, 250'000'000);  // a second, as a flop may be a call
  EXPECT_NEAR(EstimateSeconds(step, Facts(0.1)), 1.0, 1e-9);
  EXPECT_EQ(PartsWithinBudget(step, Facts(0.3)), 4);
  EXPECT_EQ(PartsWithinBudget(step, Facts(2)), 1);
  EXPECT_EQ(PartsWithinBudget(step, Facts(0)), 1) << "no budget";
  EXPECT_EQ(PartsWithinBudget(MakeStep({3, 1, 1}, 250'000'000), Facts(1e-3)), 3) << "a workgroup is the smallest part";
  Step whole = step;
  whole.traits.indivisible = true;
  EXPECT_EQ(PartsWithinBudget(whole, Facts(0.3)), 1) << "a kernel that counts its workgroups itself";
}

TEST(WorkLimitTest, MovedBytesAndEmulatedTypesCount) {
  Step step = MakeStep({1, 1, 1}, 0);
  step.bindings = {{{0, 0, 1000}, Access::kRead}, {{1, 0, 500}, Access::kReadWrite}};
  EXPECT_NEAR(EstimateSeconds(step, Facts(1)), 5 * 2000 / 1e9, 1e-12);
  EXPECT_NEAR(EstimateCopySeconds(1000, Facts(1)), 2000 / 1e9, 1e-12);
  const double before = EstimateSeconds(step, Facts(1));
  step.traits.emulates = true;
  EXPECT_GT(EstimateSeconds(step, Facts(1)), 10 * before);
}

// A kernel makes x + y * groups[0] of a workgroup's number, so lines stay whole.
TEST(WorkLimitTest, PartsAreSharesOfTheOutermostAxisThatFollowOneAnother) {
  for (const std::array<uint32_t, 3> groups : {std::array<uint32_t, 3>{10, 1, 1}, {5, 10, 1}}) {
    const Step step = MakeStep(groups, 0);
    const bool lines = groups[1] > 1;
    uint32_t next = 0;
    for (int part = 0; part < 3; ++part) {
      const GroupRange range = PartOf(step, part, 3);
      EXPECT_EQ(range.first, next);
      EXPECT_EQ(range.groups[lines ? 0 : 1], groups[lines ? 0 : 1]);
      next += range.groups[0] * range.groups[1];
    }
    EXPECT_EQ(next, groups[0] * groups[1]);
    EXPECT_EQ(PartOf(step, 0, 1), GroupRange{groups});
  }
}

}  // namespace scheduler_work_limit_test
}  // namespace VXLA_NAMESPACE
