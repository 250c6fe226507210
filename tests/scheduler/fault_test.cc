// Errors of fusion and codegen: the plan goes round them and says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ir/module.h"
#include "core/passes/fuse/fusion.h"
#include "core/text/hlo_parser.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/runtime/client.h"
#include "tests/support/fake_device.h"
#include "tests/support/faulty_device.h"

namespace VXLA_NAMESPACE {
namespace fault_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace vxla::testing;

constexpr char kProgram[] = R"(HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  n = f32[3] negate(x)
  s = f32[3] add(n, x)
  t = f32[3] subtract(s, x)
  ROOT r = (f32[3], f32[3]) tuple(t, s)
})";

bool HoldsMany(const Instruction& i) { return i.opcode() == Opcode::kFusion && HoldsSeveral(i); }

class FaultTest : public ::testing::Test {
 protected:
  // The executable for a device with this fault; its result for {1, 2, 3} is right.
  std::shared_ptr<Executable> RunWith(FaultyLowering::Fails fails, std::function<bool(const KernelKey&)> refuses = {}) {
    auto device = std::make_shared<FaultyDevice>(device_, std::move(fails));
    if (refuses) device->refuses = std::move(refuses);
    client_ = std::make_unique<Client>(device, FakeEvaluate);
    const auto module = ParseHlo(kProgram);
    VXLA_CHECK(module.ok(), module.status().message());
    auto executable = client_->Compile(**module);
    VXLA_CHECK(executable.ok(), executable.status().message());
    const Literal x =
        Literal::FromVector<float>(Shape(ElementType::kF32, {3}), std::span<const float>(std::vector<float>{1, 2, 3}));
    const Literal* arguments[] = {&x};
    const auto result = (*executable)->Run(arguments);
    VXLA_CHECK(result.ok(), result.status().message());
    const auto leaves = FlattenLiteral(*result);
    EXPECT_THAT(leaves[0]->data<float>(), ElementsAre(-1, -2, -3));
    EXPECT_THAT(leaves[1]->data<float>(), ElementsAre(0, 0, 0));
    return *executable;
  }
  FakeDevice device_;
  std::unique_ptr<Client> client_;
};

TEST_F(FaultTest, WithoutAFaultThereIsNoNote) {
  const auto executable = RunWith([](const Instruction&) { return false; });
  EXPECT_TRUE(executable->plan().faults.empty());
  EXPECT_EQ(executable->plan().dispatch_count(), 1);
  EXPECT_EQ(ToJson(executable->plan())["faults"], nlohmann::json::array());
}

TEST_F(FaultTest, AFusionThatLoweringFailsOnRunsOneInstructionAtATime) {
  const auto executable = RunWith(HoldsMany);
  const Plan& plan = executable->plan();
  EXPECT_EQ(plan.dispatch_count(), 3);
  EXPECT_TRUE(plan.fallbacks.empty());
  ASSERT_EQ(plan.faults.size(), 1u);
  EXPECT_EQ(plan.faults[0].remedy, PlanFault::Remedy::kUnfused);
  EXPECT_THAT(ToText(plan.faults[0]), HasSubstr("fusion runs one instruction at a time: internal error: "));
  EXPECT_THAT(ToText(plan.faults[0]), HasSubstr("a fault that a test wants"));
  EXPECT_THAT(ToText(plan), HasSubstr("\nfault fusion runs one instruction at a time: internal error: "));
  const nlohmann::json faults = ToJson(plan)["faults"];
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0]["instruction"], "fusion");
  EXPECT_EQ(faults[0]["remedy"], "unfused");
}

TEST_F(FaultTest, AnInstructionThatLoweringFailsOnAloneRunsOnTheHost) {
  const auto executable = RunWith([](const Instruction& i) {
    return std::ranges::any_of(i.called(0)->instructions(),
                               [](const auto& inner) { return inner->opcode() == Opcode::kNegate; });
  });
  const Plan& plan = executable->plan();
  EXPECT_EQ(plan.dispatch_count(), 2);
  ASSERT_EQ(plan.fallbacks.size(), 1u);
  EXPECT_EQ(plan.fallbacks[0].opcode, "negate");
  ASSERT_EQ(plan.faults.size(), 2u);  // of the fusion, then of the instruction
  EXPECT_EQ(plan.faults[0].remedy, PlanFault::Remedy::kUnfused);
  EXPECT_EQ(plan.faults[1].remedy, PlanFault::Remedy::kHost);
  EXPECT_THAT(ToText(plan.faults[1]), HasSubstr(" runs on the host: internal error: "));
}

TEST_F(FaultTest, AKernelThatDoesNotCompileUnfusesTheProgram) {
  const auto executable = RunWith([](const Instruction&) { return false; },
                                  [](const KernelKey& key) {
                                    return key.generated.find("; subtract") != std::string::npos &&
                                           key.generated.find("; negate") != std::string::npos;
                                  });
  ASSERT_EQ(executable->plan().faults.size(), 1u);
  EXPECT_EQ(ToText(executable->plan().faults[0]),
            "the program runs one instruction at a time: kernel fake/evaluate.comp does not compile");
  EXPECT_EQ(executable->plan().dispatch_count(), 3);
}

TEST_F(FaultTest, WhatFailsWithoutFusionTooIsAnError) {
  auto device = std::make_shared<FaultyDevice>(device_, [](const Instruction&) { return false; });
  device->refuses = [](const KernelKey&) { return true; };
  Client client(device, FakeEvaluate);
  const auto module = ParseHlo(kProgram);
  const auto executable = client.Compile(**module);
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.status().code(), StatusCode::kInternal);
  EXPECT_EQ(executable.status().message(), "kernel fake/evaluate.comp does not compile");
}

}  // namespace fault_test
}  // namespace VXLA_NAMESPACE
