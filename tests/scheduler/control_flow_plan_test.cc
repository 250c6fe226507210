// Plans of loops and branches, without a device: segments, lifetimes, copies, trip counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/passes/base/control_flow.h"
#include "core/passes/base/pipeline.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE {
namespace control_flow_plan_test {

using ::testing::HasSubstr;
using namespace vxla::testing;

// The fake device has no pred, so the condition is a host step: it stands in the condition's region all the same.
constexpr char kLoop[] = R"(HloModule golden
body {
  s = (f32[100], f32[100], f32[100]) parameter(0)
  x = f32[100] get-tuple-element(s), index=0
  y = f32[100] get-tuple-element(s), index=1
  k = f32[100] get-tuple-element(s), index=2
  a = f32[100] add(x, k)
  b = f32[100] reverse(y), dimensions={0}
  ROOT r = (f32[100], f32[100], f32[100]) tuple(a, b, k)
}
condition {
  s = (f32[100], f32[100], f32[100]) parameter(0)
  x = f32[100] get-tuple-element(s), index=0
  ROOT c = pred[] custom-call(x), custom_call_target="small"
}
ENTRY main {
  p = f32[100] parameter(0)
  k = f32[100] negate(p)
  x = f32[100] tanh(p)
  s = (f32[100], f32[100], f32[100]) tuple(x, p, k)
  loop = (f32[100], f32[100], f32[100]) while(s), condition=condition, body=body
  x1 = f32[100] get-tuple-element(loop), index=0
  y1 = f32[100] get-tuple-element(loop), index=1
  ROOT z = f32[100] add(x1, y1)
})";

TEST(ControlFlowPlanTest, PrintsAsExpected) {
  EXPECT_THAT(ToText(PlanOf(kLoop)), HasSubstr(R"(gpu queue 0
  dispatch k kernel 0 groups 2x1x1 (p, =k)
  dispatch x kernel 1 groups 2x1x1 (p, =loop[0])
  copy p -> loop[1]
while loop (the host reads condition/c; not one dispatch: loop: this device runs no loops by itself)
condition
  host condition/c (loop[0]) -> condition/c, waits for copy to loop[1], copy to loop[0]
body
  gpu queue 0
    dispatch a kernel 2 groups 2x1x1 (loop[0], k, =body/a)
    dispatch b kernel 3 groups 2x1x1 (loop[1], =body/b scratch 0)
    barrier
    dispatch b copy kernel 4 groups 1x1x1 (body/b scratch 0, =loop[1])
    copy body/a -> loop[0]
end loop
gpu queue 0
  dispatch z kernel 2 groups 2x1x1 (loop[0], loop[1], =z)
)")) << ToText(PlanOf(kLoop));
}

// A lowering that asks for places and then finds that the loop does not fit a kernel.
class RefusingLowering : public FakeLowering {
 public:
  using FakeLowering::FakeLowering;
  Result<LoopLowering> LowerLoop(const Instruction& loop, BufferMap& buffers) const override {
    buffers.Scratch(1024);
    buffers.Constant({1, 2, 3});
    return FakeLowering::LowerLoop(loop, buffers);
  }
};

TEST(ControlFlowPlanTest, ARefusedLoopLeavesNothingBehind) {
  const RefusingLowering lowering(std::make_shared<KernelRegistry>());
  const auto plan = MakePlan(*Parse(kLoop), lowering, FakeFacts({}), {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->constants.size(), 0u);
  EXPECT_EQ(ToText(*plan), ToText(PlanOf(kLoop)));
}

// A lowering whose every step reads the table that it had before it refused the loop.
class TableLowering final : public RefusingLowering {
 public:
  using RefusingLowering::RefusingLowering;
  Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const override {
    buffers.Constant({1, 2, 3});
    buffers.Constant({3, 2, 1});
    return RefusingLowering::Lower(instruction, buffers);
  }
};

TEST(ControlFlowPlanTest, ARefusedInstructionLeavesNothingBehind) {
  const TableLowering lowering(std::make_shared<KernelRegistry>());
  const auto plan =
      MakePlan(*Parse("HloModule m\nENTRY main {\n  a = f64[3] parameter(0)\n  ROOT n = f64[3] negate(a)\n}\n"),
               lowering, FakeFacts({}), {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->fallbacks.size(), 1u);
  EXPECT_EQ(plan->fallbacks[0].reason, "no f64 on this device");
  EXPECT_EQ(plan->constants.size(), 0u);
  EXPECT_EQ(plan->buffers.size(), 2u);
}

TEST(ControlFlowPlanTest, StepsShareTablesOfTheSameWords) {
  const TableLowering lowering(std::make_shared<KernelRegistry>());
  const auto plan = MakePlan(*Parse(kLoop), lowering, FakeFacts({}), {});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->constants.size(), 2u);
  EXPECT_EQ(plan->constants[0].words, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(plan->constants[1].words, (std::vector<uint32_t>{3, 2, 1}));
  for (const PlanConstant& table : plan->constants) EXPECT_EQ(plan->buffers.at(table.buffer).size_bytes, 12);
}

// `k` is made before the loop and read in it: nothing that an iteration writes may lie in its bytes.
TEST(ControlFlowPlanTest, WhatALoopReadsLivesToItsEnd) {
  const Plan plan = PlanOf(kLoop);
  const auto buffer = [&](const std::string& name) {
    for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
      if (plan.buffers[i].name == name) return i;
    }
    VXLA_CHECK(false, name);
  };
  const PlanBuffer& k = plan.buffers[buffer("k")];
  for (const char* inner : {"body/a", "body/b scratch 0", "loop[0]", "loop[1]"}) {
    EXPECT_GE(k.last_use, plan.buffers[buffer(inner)].first_use) << inner;
    EXPECT_THAT(SharesWith(plan, buffer(inner)), ::testing::Not(::testing::Contains("k")));
  }
}

TEST(ControlFlowPlanTest, DecisionsKnowTheirRegions) {
  const Plan plan = PlanOf(kLoop);
  ASSERT_EQ(plan.segments.size(), 5u);
  EXPECT_EQ(plan.SegmentEnd(0), 1);
  EXPECT_EQ(plan.SegmentEnd(1), 4);
  EXPECT_EQ(plan.Region(1, 0), std::pair(2, 3));
  EXPECT_EQ(plan.Region(1, 1), std::pair(3, 4));
  EXPECT_FALSE(plan.ResubmittedInFlight()[3]);
}

TEST(ControlFlowPlanTest, WhatACountedLoopHoldsIsSubmittedWhileItIsInFlight) {
  const auto loop = [](int64_t trip_count, std::vector<int> region_ends) {
    HostDecide decision;
    decision.trip_count = trip_count;
    decision.region_ends = std::move(region_ends);
    return decision;
  };
  Plan plan;
  plan.segments = {GpuCommands{}, loop(3, {2, 5}), GpuCommands{},    loop(1, {4, 5}),
                   GpuCommands{}, GpuCommands{},   loop(-1, {7, 8}), GpuCommands{}};
  EXPECT_EQ(plan.ResubmittedInFlight(), std::vector<bool>({false, false, true, true, true, false, false, false}));
}

TEST(ControlFlowPlanTest, BranchIndicesAreAsTheSpecificationSays) {
  EXPECT_EQ(BranchOf(1, true, 2), 0);
  EXPECT_EQ(BranchOf(0, true, 2), 1);
  EXPECT_EQ(BranchOf(2, false, 3), 2);
  EXPECT_EQ(BranchOf(-1, false, 3), 2);
  EXPECT_EQ(BranchOf(3, false, 3), 2);
}

TEST(TripCountTest, IsNotedOnlyWhereItIsCertain) {
  const auto noted = [](const std::string& next, const std::string& test, const std::string& type = "s32") {
    std::string text = R"(HloModule m
body { s = (T[], T[]) parameter(0)  i = T[] get-tuple-element(s), index=0  n = T[] get-tuple-element(s), index=1
  one = T[] constant(1)  next = T[] )" +
                       next + R"(  ROOT r = (T[], T[]) tuple(next, n) }
condition { s = (T[], T[]) parameter(0)  i = T[] get-tuple-element(s), index=0  n = T[] get-tuple-element(s), index=1
  ten = T[] constant(10)  ROOT c = pred[] compare()" +
                       test + R"( }
ENTRY main { p = T[] parameter(0)  zero = T[] constant(0)  seven = T[] constant(7)  s = (T[], T[]) tuple(zero, seven)
  w = (T[], T[]) while(s), condition=condition, body=body, backend_config={"known_trip_count":{"n":"99"}}
  ROOT r = T[] get-tuple-element(w), index=0 })";
    for (size_t at = text.find("T["); at != std::string::npos; at = text.find("T[")) text.replace(at, 1, type);
    TargetInfo target;
    target.unroll_loops = false;
    auto optimized = Optimize(*Parse(text), target);
    VXLA_CHECK(optimized.ok(), optimized.status().message());
    for (const auto& i : (*optimized)->entry()->instructions()) {
      if (i->opcode() == Opcode::kWhile) return i->notes().trip_count.value_or(-1);
    }
    return int64_t{-2};
  };
  EXPECT_EQ(noted("add(i, one)", "i, ten), direction=LT"), 10);
  EXPECT_EQ(noted("add(one, i)", "ten, i), direction=GT"), 10);
  EXPECT_EQ(noted("add(i, one)", "i, n), direction=LT"), 7);               // a constant that the loop hands on
  EXPECT_EQ(noted("subtract(i, one)", "i, ten), direction=LT", "u8"), 1);  // 0 - 1 is 255
  EXPECT_EQ(noted("subtract(i, one)", "i, ten), direction=NE", "u8"), 246);
  EXPECT_EQ(noted("multiply(i, one)", "i, ten), direction=LT"), -1);
  EXPECT_EQ(noted("add(i, n)", "i, ten), direction=LT"), 2);
  EXPECT_EQ(noted("add(i, i)", "i, ten), direction=LT"), -1);
  EXPECT_EQ(noted("subtract(i, one)", "i, ten), direction=LT"), -1);  // some two thousand million iterations
  EXPECT_EQ(noted("add(i, one)", "i, ten), direction=LT", "f32"), -1);
}

}  // namespace control_flow_plan_test
}  // namespace VXLA_NAMESPACE
