// Work beside other work, on queues of its own.
#include "scheduler/graph/queue_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <mutex>

#include "scheduler/compile.h"
#include "scheduler/plan/barriers.h"
#include "scheduler/runtime/client.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE {
namespace queue_assignment_test {

using namespace vxla::testing;

FakeDeviceOptions Queues(int count) {
  FakeDeviceOptions options;
  options.compute_queues = count;
  return options;
}

Plan PlanOf(const std::string& text, int queues = 3, int64_t memory_bytes = int64_t{1} << 30) {
  FakeDeviceOptions options = Queues(queues);
  options.memory_bytes = memory_bytes;
  return testing::PlanOf(text, options);
}

// "0: a c | 1/1: b d": the queue, the overlap if it is part of one, and the steps, of each segment of the device's.
std::string Order(const Plan& plan) {
  std::string order;
  for (const Segment& segment : plan.segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    order += order.empty() ? "" : " | ";
    if (gpu == nullptr) {
      order += std::holds_alternative<HostEvaluate>(segment) ? "host" : "loop";
      continue;
    }
    order += fmt::format("{}", gpu->queue) + (gpu->overlap == 0 ? "" : fmt::format("/{}", gpu->overlap)) + ":";
    for (const GpuCommand& command : gpu->commands) {
      if (const auto* dispatch = std::get_if<Dispatch>(&command)) order += " " + plan.steps[dispatch->step].name;
      if (std::holds_alternative<CopyBytes>(command)) order += " copy";
    }
  }
  return order;
}

int Overlaps(const Plan& plan) {
  return static_cast<int>(std::ranges::count_if(plan.segments, [](const Segment& segment) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    return gpu != nullptr && gpu->overlap != 0;
  }));
}

void ExpectNoHazards(const Plan& plan) {
  for (const Segment& one : plan.segments) {
    for (const Segment& other : plan.segments) {
      const auto *a = std::get_if<GpuCommands>(&one), *b = std::get_if<GpuCommands>(&other);
      if (a == nullptr || b == nullptr || a->overlap == 0 || a->overlap != b->overlap || a->queue == b->queue) continue;
      CommandsMemory memory;
      for (const GpuCommand& first : a->commands) {
        for (const MemoryUse& use : MemoryUses(plan, first)) memory.Add(use);
      }
      for (const GpuCommand& second : b->commands) {
        for (const MemoryUse& use : MemoryUses(plan, second)) EXPECT_FALSE(memory.IsBefore(use)) << Order(plan);
      }
    }
  }
}

constexpr char kTwoSides[] = R"(HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  a = f32[100] tanh(x)
  b = f32[100] tanh(a)
  c = f32[100] negate(a)
  d = f32[100] tanh(b)
  e = f32[100] negate(c)
  ROOT r = f32[100] add(d, e)
})";

TEST(QueueAssignmentTest, OneQueueStaysOneQueue) { EXPECT_EQ(Order(PlanOf(kTwoSides, 1)), "0: a b c d e r"); }

// From where what comes first forks to where it meets.
TEST(QueueAssignmentTest, BranchesRunOnQueuesOfTheirOwn) {
  EXPECT_EQ(Order(PlanOf(kTwoSides)), "0: a | 0/1: b d | 1/1: c e | 0: r");
}

TEST(QueueAssignmentTest, MoreBranchesThanQueuesShareThem) {
  EXPECT_EQ(Order(PlanOf(R"(HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  a = f32[100] tanh(x)
  b = f32[100] tanh(a)
  c = f32[100] negate(a)
  d = f32[100] sine(a)
  e = f32[100] cosine(a)
  f = f32[100] add(b, c)
  g = f32[100] add(d, e)
  ROOT r = f32[100] add(f, g)
})")),
            "0: a | 0/1: b e | 1/1: c | 2/1: d | 0/2: f | 1/2: g | 0: r");
}

// Nobody in an overlap writes to what another queue of it touches.
TEST(QueueAssignmentTest, QueuesShareNoMemoryInAnOverlap) {
  std::string text = "HloModule m\nENTRY e {\n  x = f32[100] parameter(0)\n  a = f32[100] tanh(x)\n";
  for (const char* side : {"l", "m", "n"}) {
    text += fmt::format("  {}0 = f32[100] tanh(a)\n", side);
    for (int i = 0; i < 6; ++i) text += fmt::format("  {}{} = f32[100] tanh({}{})\n", side, i + 1, side, i);
  }
  text += "  s = f32[100] add(l6, m6)\n  ROOT r = f32[100] add(s, n6)\n}";
  const Plan plan = PlanOf(text);
  EXPECT_EQ(Overlaps(plan), 3);
  ExpectNoHazards(plan);
}

TEST(QueueAssignmentTest, LittleMemoryIsWorthMoreThanAnOverlap) {
  std::string text = "HloModule m\nENTRY e {\n  x = f32[1000] parameter(0)\n";
  for (const char* side : {"l", "m"}) {
    text += fmt::format("  {}0 = f32[1000] tanh(x)\n", side);
    for (int i = 0; i < 6; ++i) text += fmt::format("  {}{} = f32[1000] tanh({}{})\n", side, i + 1, side, i);
  }
  text += "  ROOT r = f32[1000] add(l6, m6)\n}";
  const Plan wide = PlanOf(text);
  const Plan narrow = PlanOf(text, 3, wide.peak_bytes - 1);
  EXPECT_EQ(Overlaps(wide), 2);
  EXPECT_EQ(Overlaps(narrow), 0);
  EXPECT_LT(narrow.peak_bytes, wide.peak_bytes);
}

// In-place updates and donated parameters meet the readers of what they overwrite.
TEST(QueueAssignmentTest, WhatIsOverwrittenIsReadBefore) {
  ExpectNoHazards(PlanOf(R"(HloModule m, input_output_alias={ {0}: (0, {}, must-alias) }
ENTRY e {
  x = f32[100] parameter(0)
  u = f32[10] parameter(1)
  i = s32[] parameter(2)
  a = f32[100] tanh(x)
  d = f32[100] dynamic-update-slice(x, u, i)
  ROOT r = (f32[100], f32[100]) tuple(d, a)
})"));
}

TEST(QueueAssignmentTest, BodiesOfCountedLoopsOverlapAndOthersDoNot) {
  const auto loop = [](const char* config) {
    return fmt::format(R"(HloModule m
cond {{
  p = (f32[100], f32[100]) parameter(0)
  y = f32[100] get-tuple-element(p), index=1
  ROOT c = pred[] custom-call(y), custom_call_target="go"
}}
body {{
  p = (f32[100], f32[100]) parameter(0)
  x = f32[100] get-tuple-element(p), index=0
  y = f32[100] get-tuple-element(p), index=1
  a = f32[100] tanh(x)
  b = f32[100] negate(y)
  ROOT r = (f32[100], f32[100]) tuple(a, b)
}}
ENTRY e {{
  x = f32[100] parameter(0)
  y = f32[100] parameter(1)
  s = (f32[100], f32[100]) tuple(x, y)
  ROOT w = (f32[100], f32[100]) while(s), condition=cond, body=body{}
}})",
                       config);
  };
  const Plan counted = PlanOf(loop(", frontend_attributes={vxla=\"trip_count=5\"}"));
  const Plan asked = PlanOf(loop(""));
  const auto overlaps_in_loops = [](const Plan& plan) {
    int count = 0, end = 0;
    for (int i = 0; i < static_cast<int>(plan.segments.size()); ++i) {
      if (std::holds_alternative<HostDecide>(plan.segments[i])) end = plan.SegmentEnd(i);
      const auto* gpu = std::get_if<GpuCommands>(&plan.segments[i]);
      count += gpu != nullptr && gpu->overlap != 0 && i < end;
    }
    return count;
  };
  EXPECT_EQ(overlaps_in_loops(counted), 2) << Order(counted);
  EXPECT_EQ(overlaps_in_loops(asked), 0) << Order(asked);
  ExpectNoHazards(counted);
}

// A queue that has begun waits for nothing of the others: the first one does not go on before the second has run.
TEST(QueueAssignmentTest, QueuesRunBesideEachOther) {
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    FakeDeviceOptions options = Queues(3);
    options.mode = mode;
    const auto device = std::make_shared<FakeDevice>(options);
    std::mutex mutex;
    std::condition_variable changed;
    bool second_ran = false, gave_up = false;
    device->before_submission_runs = [&](TimePoint point) {
      std::unique_lock lock(mutex);
      if (point.queue == 1) second_ran = true;
      changed.notify_all();
      if (point == TimePoint{0, 2})
        gave_up = !changed.wait_for(lock, std::chrono::seconds(20), [&] { return second_ran; });
    };
    Client client(device, FakeEvaluate);
    CompileOptions compile;
    compile.fusion = false;
    const auto executable = client.Compile(*Parse(kTwoSides), compile);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    Literal x(Shape(ElementType::kF32, {100}));
    for (int i = 0; i < 100; ++i) x.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(i) / 100;
    const Literal* arguments[] = {&x};
    for (int run = 0; run < 4; ++run) {
      const auto result = (*executable)->Run(arguments);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_NEAR(result->GetDouble(7), std::tanh(std::tanh(std::tanh(0.07))) + std::tanh(0.07), 1e-6);
    }
    EXPECT_FALSE(gave_up);
  }
}

// The same facts as a GPU of 100 workgroups at once, on which a queue's wait takes 30 us.
TEST(QueueAssignmentTest, AnOverlapIsWorthItsSemaphores) {
  DeviceFacts facts;
  facts.queue_switch_seconds = 30e-6;
  const QueueWork idle = {200e-6, 20e-6}, full = {200e-6, 200e-6}, little = {20e-6, 1e-6};
  EXPECT_NEAR(OverlapGain(400e-6, std::vector{idle, idle}, facts), 140e-6, 1e-9);
  EXPECT_NEAR(OverlapGain(600e-6, std::vector{idle, idle, idle}, facts), 280e-6, 1e-9);
  EXPECT_LT(OverlapGain(400e-6, std::vector{full, full}, facts), 0);     // the device is busy already
  EXPECT_LT(OverlapGain(40e-6, std::vector{little, little}, facts), 0);  // not worth the wait
  EXPECT_LT(OverlapGain(200e-6, std::vector{idle, idle}, facts), 0);     // one queue overlaps them too
}

TEST(QueueAssignmentTest, AStepOfFewWorkgroupsLeavesTheDeviceIdle) {
  DeviceFacts facts;
  facts.busy_workgroups = 100;
  Plan plan;
  plan.steps.resize(1);
  plan.steps[0].flop = 1000000;
  Operation operation;
  operation.action = Dispatch{0};
  plan.steps[0].groups = {100, 1, 1};
  const QueueWork full = WorkOf(operation, plan, facts);
  plan.steps[0].groups = {5, 2, 1};
  const QueueWork few = WorkOf(operation, plan, facts);
  EXPECT_EQ(few.busy_seconds, full.busy_seconds);
  EXPECT_NEAR(few.seconds / full.seconds, 10, 0.1);
}

}  // namespace queue_assignment_test
}  // namespace VXLA_NAMESPACE
