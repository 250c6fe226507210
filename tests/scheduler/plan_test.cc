#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "backend/kernel_hash.h"
#include "core/passes/base/pipeline.h"
#include "core/text/hlo_parser.h"
#include "scheduler/compile.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::HasSubstr;
using namespace vxla::testing;

class PlanTest : public ::testing::Test {
 protected:
  Result<Plan> TryPlan(const std::string& text, const PlanOptions& options = {}) {
    auto module = ParseHlo(text);
    VXLA_CHECK(module.ok(), module.status().message());
    return MakePlan(**module, lowering_, facts_, options);
  }
  Plan PlanOf(const std::string& text, const PlanOptions& options = {}) {
    auto plan = TryPlan(text, options);
    VXLA_CHECK(plan.ok(), plan.status().message());
    return *plan;
  }
  FakeLowering lowering_{std::make_shared<KernelRegistry>()};
  DeviceFacts facts_ = FakeFacts({});
};

// The copy of parameter 0 does not wait for the host step, so result 1 may take the memory over.
TEST_F(PlanTest, PrintsAsExpected) {
  const Plan plan = PlanOf(R"(HloModule golden, input_output_alias={ {1}: (0, {}, may-alias) }
ENTRY main {
  x = f32[100] parameter(0)
  unused = f32[3] parameter(1)
  c = f32[100] constant({...})
  s = f32[100] negate(x)
  t = f32[100] custom-call(s), custom_call_target="the_callers_own"
  r = f32[100] reverse(t), dimensions={0}
  v = f32[100] reverse(r), dimensions={0}
  w = f32[4,25] reshape(v)
  u = f32[100] tanh(r)
  ROOT out = (f32[4,25], f32[100], f32[100]) tuple(w, u, x)
})");
  EXPECT_EQ(ToText(plan), R"(plan golden (addresses)
parameter 0 x: f32[100], donated to result 1
parameter 1 unused: f32[3]
buffer x: 400 bytes at parameter 0, used 0..1
buffer unused: 12 bytes at parameter 1
buffer s: 400 bytes at scratch 0, used 0..2
buffer t: 400 bytes at scratch 0 + 512, used 1..3
buffer r: 400 bytes at scratch 0 + 512, used 4..7
buffer r scratch 0: 400 bytes at scratch 0, used 3..4
buffer v: 400 bytes at result 0, used 6..7
buffer v scratch 0: 400 bytes at scratch 0, used 5..6
buffer u: 400 bytes at parameter 0, used 7..7
buffer result 2: 400 bytes at result 2, used 1..7
kernel 0: fake/evaluate.comp 5858d246992d1981
kernel 1: fake/evaluate.comp 060c828ac458e2f6
kernel 2: fake/copy.comp eaefe00f5f704fc4
kernel 3: fake/evaluate.comp 15c02edaffed083a
gpu queue 0
  dispatch s kernel 0 groups 2x1x1 (x, =s)
gpu queue 0
  copy x -> result 2
host t (s) -> t, waits for s
gpu queue 0
  dispatch r kernel 1 groups 2x1x1 (t, =r scratch 0)
  barrier
  dispatch r copy kernel 2 groups 1x1x1 (r scratch 0, =r)
  barrier
  dispatch v kernel 1 groups 2x1x1 (r, =v scratch 0)
  barrier
  dispatch v copy kernel 2 groups 1x1x1 (v scratch 0, =v)
  dispatch u kernel 3 groups 2x1x1 (r, =u)
result v: f32[4,25]
result u: f32[100]
result result 2: f32[100]
fallback t (custom-call): no kernel for custom-call yet
6 dispatches, 4 kernels, 3 barriers, peak 2560 bytes, lower bound 2560 bytes
)");
}

TEST_F(PlanTest, ADonatedParameterHoldsTheResultOnceItHasBeenRead) {
  const Plan plan = PlanOf(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
ENTRY main {
  x = f32[100] parameter(0)
  y = f32[100] parameter(1)
  a = f32[100] negate(x)
  b = f32[100] negate(a)
  c = f32[100] negate(y)
  ROOT r = (f32[100], f32[100]) tuple(b, c)
})");
  EXPECT_EQ(plan.parameters[0].donated_to, 0);
  EXPECT_EQ(PlaceText(plan.buffers[plan.results[0].buffer]), "parameter 0");
  // One step reads y and writes c, and nothing is known about the order in which it does.
  EXPECT_EQ(plan.parameters[1].donated_to, -1);
  EXPECT_EQ(plan.peak_bytes, 3 * 512 + 512);
}

TEST_F(PlanTest, ALoopMayWriteOverTheParameterThatItReads) {
  const auto donated = [&](const std::string& body) {
    const std::string head =
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nloop {\n  x = f32[100] parameter(0)\n";
    const std::string entry =
        "}\nENTRY main {\n  x = f32[100] parameter(0)\n  ROOT f = f32[100] fusion(x), kind=kLoop, calls=loop\n}";
    return PlanOf(head + body + entry).parameters[0].donated_to == 0;
  };
  EXPECT_TRUE(donated("  a = f32[100] negate(x)\n  ROOT r = f32[100] add(a, x)\n"));
  EXPECT_TRUE(donated("  a = f32[10,10] reshape(x)\n  b = f32[10,10] negate(a)\n  ROOT r = f32[100] reshape(b)\n"));
  EXPECT_FALSE(
      donated("  a = f32[50] slice(x), slice={[50:100]}\n  b = f32[50] slice(x), slice={[0:50]}\n"
              "  ROOT r = f32[100] concatenate(a, b), dimensions={0}\n"));
  EXPECT_FALSE(
      donated("  a = f32[10,10] reshape(x)\n  b = f32[10,10] transpose(a), dimensions={1,0}\n  ROOT r = f32[100] "
              "reshape(b)\n"));
}

TEST_F(PlanTest, ConstantsAreReadFromOneBlock) {
  const Plan plan = PlanOf(R"(HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  a = f32[3] constant({1, 2, 3})
  b = f32[3] constant({4, 5, 6})
  s = f32[3] add(x, a)
  ROOT t = f32[3] multiply(s, b)
})");
  ASSERT_EQ(plan.constants.size(), 2u);
  EXPECT_EQ(plan.constant_block_bytes, std::vector<int64_t>{512});
  EXPECT_EQ(PlaceText(plan.buffers[plan.constants[1].buffer]), "constant 0 + 256");
}

TEST_F(PlanTest, EqualKernelsAreListedOnce) {
  const Plan plan = PlanOf(R"(HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  a = f32[3] negate(x)
  b = f32[3] negate(a)
  ROOT c = f32[3] negate(b)
})");
  EXPECT_EQ(plan.dispatch_count(), 3);
  EXPECT_EQ(plan.kernels.size(), 1u);
  EXPECT_EQ(plan.barrier_count(), 2);
}

TEST_F(PlanTest, AReshapeAndABarrierTakeNoStep) {
  const Plan plan = PlanOf(R"(HloModule m
ENTRY main {
  x = f32[6] parameter(0)
  a = f32[2,3] reshape(x)
  b = f32[2,3] opt-barrier(a)
  c = s32[2,3] bitcast-convert(b)
  d = f32[2,3] bitcast-convert(c)
  ROOT e = f32[2,3] negate(d)
})");
  EXPECT_EQ(plan.dispatch_count(), 1);
  EXPECT_EQ(plan.steps[0].bindings[0].slice.buffer, plan.parameters[0].buffer);
}

TEST_F(PlanTest, SubByteTypesAreNotReinterpreted) {
  const Plan plan =
      PlanOf("HloModule m\nENTRY main {\n  x = s4[6] parameter(0)\n  ROOT c = u4[6] bitcast-convert(x)\n}");
  EXPECT_EQ(plan.fallbacks.size(), 1u);
}

TEST_F(PlanTest, DeadAndEmptyInstructionsTakeNoStep) {
  const Plan plan = PlanOf(R"(HloModule m
ENTRY main {
  x = f32[0,6] parameter(0)
  y = f32[5] parameter(1)
  dead = f32[5] tanh(y)
  ROOT e = f32[0,6] negate(x)
})");
  EXPECT_EQ(plan.dispatch_count(), 0);
  EXPECT_TRUE(plan.segments.empty());
}

// It had its size and the place of a block that it does not fit, and a bundle of the program was refused.
TEST_F(PlanTest, ScratchThatNoStepBindsHasNoMemory) {
  lowering_.idle_scratch_bytes = 1 << 20;
  const Plan plan = PlanOf("ENTRY main { x = f32[5] parameter(0)  y = f32[5] tanh(x)  ROOT e = f32[5] negate(y) }");
  int idle = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.placement.space != MemorySpace::kScratch) continue;
    if (buffer.first_use < 0) {
      EXPECT_EQ(buffer.size_bytes, 0);
      ++idle;
    } else {
      EXPECT_LE(buffer.placement.offset_bytes + buffer.size_bytes,
                plan.scratch_block_bytes.at(static_cast<size_t>(buffer.placement.index)));
    }
  }
  EXPECT_GT(idle, 0);
}

TEST_F(PlanTest, AnOpThatNothingEvaluatesIsNamed) {
  const auto refused = TryPlan(R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] shuffle(x)
})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.status().message(), "shuffle y cannot be run yet");
  EXPECT_EQ(refused.status().location().line, 4);
}

TEST_F(PlanTest, AnElidedConstantIsRefused) {
  const auto refused =
      TryPlan("HloModule m\nENTRY main {\n  c = f32[4] constant({...})\n  ROOT y = f32[4] negate(c)\n}");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("constant c"));
}

// The elements of the bounds, and a size of each dimension behind them.
TEST_F(PlanTest, WhatHasLiveSizesIsEvaluatedOnTheHost) {
  const auto plan = TryPlan(
      "HloModule m\nENTRY main {\n  x = f32[<=5,3] parameter(0)\n  y = f32[<=5,3] negate(x)\n  z = f32[7] "
      "parameter(1)\n"
      "  w = f32[7] negate(z)\n  ROOT t = (f32[<=5,3], f32[7]) tuple(y, w)\n}");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->fallbacks.size(), 1u);
  EXPECT_THAT(plan->fallbacks[0].reason, HasSubstr("live sizes"));
  EXPECT_EQ(plan->buffers[static_cast<size_t>(plan->parameters[0].buffer)].size_bytes, 64 + 16);
  EXPECT_EQ(plan->steps.size(), 1u);
}

TEST_F(PlanTest, ADescriptorCoversNoMoreThanTheDeviceSays) {
  facts_.max_storage_range_bytes = 1000;
  const std::string text = "HloModule m\nENTRY main {\n  x = f32[300] parameter(0)\n  ROOT y = f32[300] negate(x)\n}";
  EXPECT_TRUE(TryPlan(text).ok());
  PlanOptions options;
  options.bindings = BindingMode::kDescriptors;
  const auto refused = TryPlan(text, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(),
            "buffer x needs 1200 bytes, and a descriptor of this device covers 1000 bytes at most; "
            "--bindings=addresses has no "
            "such limit");
}

TEST_F(PlanTest, AProgramThatNeedsTooMuchAtOnceIsRefused) {
  facts_.memory_bytes = 3000;
  const auto refused =
      TryPlan("HloModule m\nENTRY main {\n  x = f32[500] parameter(0)\n  ROOT y = f32[500] negate(x)\n}");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            "the program needs 4096 bytes of device memory at once, and the device has 3000 bytes");
}

// Random programs: dags of negate, add and reverse. Checks what the passes promise, all of them together.
std::string RandomProgram(std::mt19937& random, int instructions) {
  std::string text = "HloModule random\nENTRY main {\n  v0 = f32[1000] parameter(0)\n  v1 = f32[1000] parameter(1)\n";
  for (int i = 2; i < instructions; ++i) {
    const int a = std::max<int>(0, i - 1 - static_cast<int>(random() % 6)), b = static_cast<int>(random() % i);
    switch (random() % 3) {
      case 0:
        text += fmt::format("  v{} = f32[1000] negate(v{})\n", i, a);
        break;
      case 1:
        text += fmt::format("  v{} = f32[1000] add(v{}, v{})\n", i, a, b);
        break;
      default:
        text += fmt::format("  v{} = f32[1000] reverse(v{}), dimensions={{0}}\n", i, a);
    }
  }
  return text + fmt::format("  ROOT r = (f32[1000], f32[1000]) tuple(v{}, v{})\n}}", instructions - 1,
                            random() % instructions);
}

TEST_F(PlanTest, RandomProgramsArePlannedWithoutClashesAndNearTheLowerBound) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const Plan plan = PlanOf(RandomProgram(random, 5 + random() % 60));
    for (size_t a = 0; a < plan.buffers.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const PlanBuffer &x = plan.buffers[a], &y = plan.buffers[b];
        const bool together =
            x.first_use >= 0 && y.first_use >= 0 && x.first_use <= y.last_use && y.first_use <= x.last_use;
        const bool overlap = Overlap(RangeOf(plan, {static_cast<int>(a), 0, x.size_bytes}),
                                     RangeOf(plan, {static_cast<int>(b), 0, y.size_bytes}));
        ASSERT_FALSE(together && overlap) << x.name << " and " << y.name << "\n" << ToText(plan);
      }
    }
    EXPECT_LE(plan.peak_bytes, plan.lower_bound_bytes + plan.lower_bound_bytes / 10) << ToText(plan);
  }
}

TEST_F(PlanTest, ALongReshapedProgramIsStillPureText) {
  const std::string text = "HloModule m\nENTRY main {\n  x = f32[6] parameter(0)\n  ROOT y = f32[6] negate(x)\n}";
  EXPECT_EQ(PlanOf(text), PlanOf(text));
  EXPECT_EQ(ToText(PlanOf(text)), ToText(PlanOf(text)));
  const nlohmann::json json = ToJson(PlanOf(text));
  EXPECT_EQ(json["dispatches"], 1);
  EXPECT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["groups"], (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(json["barriers"], 0);
  EXPECT_EQ(json["buffers"][0]["name"], "x");
  EXPECT_TRUE(json["fallbacks"].empty());
}

TEST(HashOfTest, DiffersWhereKeysDo) {
  const KernelKey key{"a.comp", "x", {1, 2}, 3, 4};
  EXPECT_EQ(HashOf(key), HashOf(KernelKey(key)));
  KernelKey other = key;
  other.constants = {2, 1};
  EXPECT_NE(HashOf(key), HashOf(other));
  other = key;
  other.algorithm = "a.compx";
  other.generated = "";
  EXPECT_NE(HashOf(key), HashOf(other));
}

// A lowering that forgets something is caught before anything runs.
class BrokenLowering : public FakeLowering {
 public:
  BrokenLowering(std::function<void(Step&)> spoil)
      : FakeLowering(std::make_shared<KernelRegistry>()), spoil_(std::move(spoil)) {}
  Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const override {
    VXLA_ASSIGN_OR_RETURN(std::vector<Step> steps, FakeLowering::Lower(instruction, buffers));
    spoil_(steps[0]);
    return steps;
  }

 private:
  std::function<void(Step&)> spoil_;
};

std::string MessageOf(std::function<void(Step&)> spoil) {
  auto module = ParseHlo(
      "HloModule m\nENTRY main {\n  x = f32[6] parameter(0)\n  a = f32[6] negate(x)\n  ROOT y = f32[6] negate(a)\n}");
  const BrokenLowering lowering(std::move(spoil));
  const auto plan = MakePlan(**module, lowering, FakeFacts({}), {});
  return plan.ok() ? "OK" : plan.status().message();
}

TEST(SealTest, RefusesStepsThatDoNotFit) {
  EXPECT_EQ(MessageOf([](Step&) {}), "OK");
  EXPECT_EQ(MessageOf([](Step& step) {
              step.groups = {1, 70000, 1};
            }),
            "step a: 70000 workgroups on axis 1, and the device takes 1 to 65535");
  EXPECT_EQ(MessageOf([](Step& step) { step.params.clear(); }),
            "step a: 2 bindings and 0 parameters, and its kernel takes 2 and 1");
  EXPECT_EQ(MessageOf([](Step& step) { step.bindings[1].slice.size_bytes = 25; }),
            "step a: bytes 0 to 25 of a, which has 24");
  EXPECT_EQ(MessageOf([](Step& step) { step.bindings[1].access = Access::kRead; }),
            "plan: operation 0 reads a before anything has written it");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
