// Results that must lie where an operand lies: dynamic-update-slice of the fake device writes the update over its
// operand and leaves the rest alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ir/module.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/runtime/client.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE {
namespace in_place_test {

using ::testing::ElementsAre;
using namespace vxla::testing;

int CopiesIn(const Plan& plan) {
  int copies = 0;
  for (const Segment& segment : plan.segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    if (gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands) copies += std::holds_alternative<CopyBytes>(command);
  }
  return copies;
}

std::vector<float> Floats(const Literal& literal) {
  const auto data = literal.data<float>();
  return {data.begin(), data.end()};
}

// For p0 = {1, 2, 3, 4, 5}, p1 = {10, 20} and p2 = 1; the leaves of the result.
std::vector<std::vector<float>> ResultsOf(const std::string& text) {
  Client client(std::make_shared<FakeDevice>(), FakeEvaluate);
  auto executable = client.Compile(*Parse(text));
  VXLA_CHECK(executable.ok(), executable.status().message());
  const auto vector = [](std::vector<float> values) {
    return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}),
                                      std::span<const float>(values));
  };
  const Literal arguments[] = {vector({1, 2, 3, 4, 5}), vector({10, 20}), Literal::ScalarInt(ElementType::kS32, 1)};
  const Literal* pointers[] = {&arguments[0], &arguments[1], &arguments[2]};
  const auto result = (*executable)->Run(pointers);
  VXLA_CHECK(result.ok(), result.status().message());
  std::vector<std::vector<float>> leaves;
  for (const Literal* leaf : FlattenLiteral(*result)) leaves.push_back(Floats(*leaf));
  return leaves;
}

std::string Program(const std::string& body, const std::string& header = "HloModule m") {
  return header + "\nENTRY main {\n  p = f32[5] parameter(0)\n  u = f32[2] parameter(1)\n  i = s32[] parameter(2)\n" +
         body + "\n}";
}

TEST(InPlaceTest, AnOperandThatDiesThereIsNotCopied) {
  const std::string text =
      Program("  x = f32[5] negate(p)\n  d = f32[5] dynamic-update-slice(x, u, i)\n  ROOT y = f32[5] negate(d)");
  EXPECT_EQ(CopiesIn(PlanOf(text)), 0) << ToText(PlanOf(text));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(1, -10, -20, 4, 5)));
}

TEST(InPlaceTest, AChainOfUpdatesNeedsNoCopy) {
  const std::string text = Program(
      "  x = f32[5] negate(p)\n  z = s32[] constant(3)\n  d = f32[5] dynamic-update-slice(x, u, i)\n"
      "  ROOT e = f32[5] dynamic-update-slice(d, u, z)");
  EXPECT_EQ(CopiesIn(PlanOf(text)), 0) << ToText(PlanOf(text));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(-1, 10, 20, 10, 20)));
}

TEST(InPlaceTest, AnOperandThatLivesOnIsCopiedFirst) {
  const std::string text = Program(
      "  x = f32[5] negate(p)\n  d = f32[5] dynamic-update-slice(x, u, i)\n  y = f32[5] add(d, x)\n"
      "  ROOT r = (f32[5], f32[5]) tuple(y, x)");
  const Plan plan = PlanOf(text);
  EXPECT_EQ(CopiesIn(plan), 1) << ToText(plan);
  EXPECT_THAT(ToText(plan), ::testing::HasSubstr("  copy x -> d\n"));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(-2, 8, 17, -8, -10), ElementsAre(-1, -2, -3, -4, -5)));
}

TEST(InPlaceTest, TwoUpdatesOfOneValueCopyItOnce) {
  const std::string text = Program(
      "  x = f32[5] negate(p)\n  z = s32[] constant(3)\n  d = f32[5] dynamic-update-slice(x, u, i)\n"
      "  e = f32[5] dynamic-update-slice(x, u, z)\n  ROOT r = (f32[5], f32[5]) tuple(d, e)");
  EXPECT_EQ(CopiesIn(PlanOf(text)), 1) << ToText(PlanOf(text));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(-1, 10, 20, -4, -5), ElementsAre(-1, -2, -3, 10, 20)));
}

TEST(InPlaceTest, AValueThatIsTheUpdateTooIsCopiedFirst) {
  const std::string text =
      Program("  x = f32[5] negate(p)\n  z = s32[] constant(0)\n  ROOT d = f32[5] dynamic-update-slice(x, x, z)");
  EXPECT_EQ(CopiesIn(PlanOf(text)), 1) << ToText(PlanOf(text));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(-1, -2, -3, -4, -5)));
}

TEST(InPlaceTest, AParameterThatIsNotDonatedIsCopiedFirst) {
  const std::string text = Program("  ROOT d = f32[5] dynamic-update-slice(p, u, i)");
  const Plan plan = PlanOf(text);
  EXPECT_EQ(CopiesIn(plan), 1) << ToText(plan);
  EXPECT_THAT(ToText(plan), ::testing::HasSubstr("  copy p -> d\n"));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(1, 10, 20, 4, 5)));
}

constexpr char kDonates[] = "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }";

TEST(InPlaceTest, ADonatedParameterIsNotCopied) {
  const std::string text = Program("  ROOT d = f32[5] dynamic-update-slice(p, u, i)", kDonates);
  const Plan plan = PlanOf(text);
  EXPECT_EQ(CopiesIn(plan), 0) << ToText(plan);
  EXPECT_EQ(plan.parameters[0].donated_to, 0);
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(1, 10, 20, 4, 5)));
}

TEST(InPlaceTest, ADonatedParameterThatIsReadLaterIsCopied) {
  const std::string text = Program(
      "  d = f32[5] dynamic-update-slice(p, u, i)\n  y = f32[5] reverse(p), dimensions={0}\n  ROOT s = f32[5] add(d, "
      "y)",
      kDonates);
  EXPECT_EQ(CopiesIn(PlanOf(text)), 1) << ToText(PlanOf(text));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(6, 14, 23, 6, 6)));
}

TEST(InPlaceTest, AConstantIsCopied) {
  const std::string text =
      Program("  c = f32[5] constant({9, 8, 7, 6, 5})\n  ROOT d = f32[5] dynamic-update-slice(c, u, i)");
  EXPECT_EQ(CopiesIn(PlanOf(text)), 1) << ToText(PlanOf(text));
  EXPECT_THAT(ResultsOf(text), ElementsAre(ElementsAre(9, 10, 20, 6, 5)));
}

// The state of the loop is updated where it lies; what is needed of it afterwards is not.
std::string Loop(const std::string& body) {
  return "HloModule m\nbody {\n  s = (f32[5], f32[2], s32[]) parameter(0)\n  x = f32[5] get-tuple-element(s), index=0\n"
         "  u = f32[2] get-tuple-element(s), index=1\n  i = s32[] get-tuple-element(s), index=2\n" +
         body +
         "\n}\ncondition {\n  s = (f32[5], f32[2], s32[]) parameter(0)\n  x = f32[5] get-tuple-element(s), index=0\n"
         "  ROOT c = pred[] custom-call(x), custom_call_target=\"small\"\n}\nENTRY main {\n  p = f32[5] parameter(0)\n"
         "  u = f32[2] parameter(1)\n  i = s32[] parameter(2)\n  n = f32[5] negate(p)\n"
         "  s = (f32[5], f32[2], s32[]) tuple(n, u, i)\n"
         "  w = (f32[5], f32[2], s32[]) while(s), condition=condition, body=body\n"
         "  ROOT y = f32[5] get-tuple-element(w), index=0\n}";
}

TEST(InPlaceTest, ALoopUpdatesItsStateWhereItLies) {
  const std::string text =
      Loop("  d = f32[5] dynamic-update-slice(x, u, i)\n  ROOT r = (f32[5], f32[2], s32[]) tuple(d, u, i)");
  EXPECT_EQ(CopiesIn(PlanOf(text)), 0) << ToText(PlanOf(text));
}

TEST(InPlaceTest, ALoopThatReadsTheOldStateAfterTheUpdateCopiesItFirst) {
  const std::string text = Loop(
      "  d = f32[5] dynamic-update-slice(x, u, i)\n  a = f32[5] add(d, x)\n"
      "  ROOT r = (f32[5], f32[2], s32[]) tuple(a, u, i)");
  EXPECT_GE(CopiesIn(PlanOf(text)), 1) << ToText(PlanOf(text));
}

}  // namespace in_place_test
}  // namespace VXLA_NAMESPACE
