#include "scheduler/plan/barriers.h"

#include <gtest/gtest.h>

#include <random>

namespace VXLA_NAMESPACE {
namespace {

// A plan of one segment whose dispatches touch slices of `buffers` scratch buffers that may overlap.
Plan RandomPlan(std::mt19937& random, int steps, int buffers) {
  Plan plan;
  for (int i = 0; i < buffers; ++i) {
    PlanBuffer buffer;
    buffer.size_bytes = 64;
    const auto space = random() % 4 == 0 ? MemorySpace::kParameter : MemorySpace::kScratch;
    buffer.placement = {space, static_cast<int>(random() % 2), static_cast<int64_t>(random() % 6) * 32};
    plan.buffers.push_back(buffer);
  }
  GpuCommands segment;
  for (int i = 0; i < steps; ++i) {
    Step step;
    const int uses = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < uses; ++k) {
      const int64_t begin = random() % 48, size = random() % (64 - begin + 1);  // empty slices too
      const auto access = static_cast<Access>(random() % 3);
      step.bindings.push_back({{static_cast<int>(random() % buffers), begin, size}, access});
    }
    plan.steps.push_back(step);
    segment.commands.push_back(Dispatch{i});
  }
  plan.segments.push_back(segment);
  return plan;
}

const std::vector<GpuCommand>& Commands(const Plan& plan) { return std::get<GpuCommands>(plan.segments[0]).commands; }

bool Conflict(const Plan& plan, const GpuCommand& a, const GpuCommand& b) {
  for (const MemoryUse& x : MemoryUses(plan, a)) {
    for (const MemoryUse& y : MemoryUses(plan, b)) {
      if (!x.writes && !y.writes) continue;
      if (x.range.space != y.range.space || x.range.index != y.range.index) continue;
      for (int64_t byte = x.range.begin; byte < x.range.end; ++byte) {
        if (byte >= y.range.begin && byte < y.range.end) return true;
      }
    }
  }
  return false;
}

bool Sufficient(const Plan& plan, const std::vector<GpuCommand>& commands) {
  for (size_t i = 0; i < commands.size(); ++i) {
    for (size_t j = i; j-- > 0 && !std::holds_alternative<Barrier>(commands[j]);) {
      if (!std::holds_alternative<Barrier>(commands[i]) && Conflict(plan, commands[j], commands[i])) return false;
    }
  }
  return true;
}

// The fewest barriers that order the hazards, by dynamic programming over where the last one stands.
int FewestBarriers(const Plan& plan, int steps) {
  std::vector<int> fewest(steps + 1, 0);  // fewest[j]: for the first j steps
  for (int j = 1; j <= steps; ++j) {
    fewest[j] = steps;
    for (int begin = j - 1; begin >= 0; --begin) {  // the last group is [begin, j)
      for (int k = begin + 1; k < j; ++k) {
        if (Conflict(plan, Dispatch{begin}, Dispatch{k})) {
          begin = -1;
          break;
        }
      }
      if (begin < 0) break;
      fewest[j] = std::min(fewest[j], begin == 0 ? 0 : fewest[begin] + 1);
    }
  }
  return fewest[steps];
}

TEST(InsertBarriersTest, EveryHazardIsSeparatedAndNoBarrierIsSpare) {
  std::mt19937 random(7);
  int total = 0;
  for (int round = 0; round < 400; ++round) {
    const int steps = 1 + static_cast<int>(random() % 14);
    Plan plan = RandomPlan(random, steps, 2 + static_cast<int>(random() % 8));
    InsertBarriers(plan);
    ASSERT_TRUE(Sufficient(plan, Commands(plan))) << "round " << round;
    ASSERT_EQ(plan.barrier_count(), FewestBarriers(plan, steps)) << "round " << round;
    ASSERT_EQ(static_cast<int>(Commands(plan).size()), steps + plan.barrier_count());
    total += plan.barrier_count();
  }
  EXPECT_GT(total, 100);
}

TEST(InsertBarriersTest, ReadersOfOneBufferNeedNone) {
  Plan plan;
  PlanBuffer buffer;
  buffer.size_bytes = 64;
  plan.buffers = {buffer};
  GpuCommands segment;
  for (int i = 0; i < 5; ++i) {
    Step step;
    step.bindings = {{{0, 0, 64}, Access::kRead}};
    plan.steps.push_back(step);
    segment.commands.push_back(Dispatch{i});
  }
  plan.segments = {segment};
  InsertBarriers(plan);
  EXPECT_EQ(plan.barrier_count(), 0);
}

TEST(InsertBarriersTest, CopiesCountAsReadsAndWrites) {
  Plan plan;
  PlanBuffer a, b;
  a.size_bytes = b.size_bytes = 64;
  b.placement.offset_bytes = 64;
  plan.buffers = {a, b};
  plan.segments = {GpuCommands{0, {CopyBytes{{0, 0, 64}, {1, 0, 64}}, CopyBytes{{1, 0, 64}, {0, 0, 64}}}}};
  InsertBarriers(plan);
  EXPECT_EQ(plan.barrier_count(), 1);
}

TEST(InsertBarriersTest, SegmentsStartAfresh) {
  Plan plan;
  PlanBuffer a;
  a.size_bytes = 64;
  plan.buffers = {a};
  Step write;
  write.bindings = {{{0, 0, 64}, Access::kWrite}};
  plan.steps = {write, write};
  plan.segments = {GpuCommands{0, {Dispatch{0}}}, HostEvaluate{}, GpuCommands{0, {Dispatch{1}}}};
  InsertBarriers(plan);
  EXPECT_EQ(plan.barrier_count(), 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
