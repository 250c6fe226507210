// Diff as the library gives it: what agrees, what does not, and whose fault it is. On the device that VXLA_TEST_DEVICE
// names, or the best one.
#include "api/verify/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "api/program.h"
#include "api/verify/diff_side.h"
#include "api/verify/seeded_arguments.h"
#include "core/ir/module.h"
#include "include/vxla/vxla.hpp"
#include "tests/support/random_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;

const DiffSide& Device() {
  // Never destroyed: drivers may be unloaded before static objects go.
  static const auto* device = [] {
    DeviceOptions options;
    if (const char* wanted = std::getenv("VXLA_TEST_DEVICE")) options.device = wanted;
    auto opened = DiffSide::Open(options, {}, {});
    if (!opened.ok()) ADD_FAILURE() << opened.status().message();
    return opened.ok() ? std::move(*opened).release() : new DiffSide(nullptr);
  }();
  return *device;
}

struct Program {
  std::unique_ptr<Module> module;
  std::vector<Literal> arguments;
  std::vector<const Literal*> pointers() const {
    std::vector<const Literal*> result;
    for (const Literal& argument : arguments) result.push_back(&argument);
    return result;
  }
};

Program ProgramOf(const std::string& hlo, uint64_t seed = 0) {
  auto module = ParseProgram(hlo);
  EXPECT_TRUE(module.ok()) << module.status().message() << "\n" << hlo;
  if (!module.ok()) return {};
  auto arguments = SeededArguments(**module, seed);
  return {std::move(*module), std::move(*arguments)};
}

DiffOutcome DiffOf(const Program& program, const DiffOptions& options = {},
                   std::optional<std::vector<Literal>> expected = std::nullopt) {
  const std::vector<const Literal*> pointers = program.pointers();
  auto outcome = RunDiff(*program.module, pointers, Device(), nullptr, std::move(expected), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? std::move(*outcome) : DiffOutcome();
}

std::string Layer(int64_t inner) {
  return fmt::format(
      "ENTRY e {{ x = f32[64,{0}] parameter(0)  w = f32[{0},96] parameter(1)  b = f32[96] parameter(2)\n"
      "  d = f32[64,96] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}  c = f32[64,96] "
      "broadcast(b), "
      "dimensions={{1}}\n  s = f32[64,96] add(d, c)  ROOT t = f32[64,96] tanh(s) }}",
      inner);
}

// (1 + y) - 1 keeps few of y's bits, and 1e6 times that shows it.
constexpr char kCancelling[] =
    "ENTRY e { x = f32[1000] parameter(0)  y = f32[1000] sine(x)  z = f32[1000] cosine(x)  yy = f32[1000] multiply(y, "
    "y)  "
    "zz = f32[1000] multiply(z, z)\n"
    "  s = f32[1000] add(yy, zz)  one = f32[] constant(1)  ones = f32[1000] broadcast(one), dimensions={}  ROOT d = "
    "f32[1000] subtract(s, ones) }";

std::string Summary(const DiffOutcome& outcome) {
  std::string text = fmt::format("first bad: {}, fault: {}\n", outcome.first_bad, outcome.fault);
  for (const LeafReport& leaf : outcome.leaves) {
    text += fmt::format("result_{} {}: {} of {} outside, {} ulp, by {}", leaf.index, leaf.shape,
                        leaf.comparison.mismatches, leaf.comparison.elements, leaf.comparison.max_ulp, leaf.judged_by);
    if (leaf.conditioning)
      text += fmt::format(", {} beyond {} runs, unseen {}, amplification {}", leaf.conditioning->outside,
                          leaf.conditioning->runs, leaf.conditioning->unseen, leaf.conditioning->amplification);
    text += "\n";
  }
  for (const InstructionReport& i : outcome.instructions) {
    if (i.bad()) text += fmt::format("{} ({}): {} outside {}\n", i.name, i.opcode, i.device.mismatches, i.bound);
  }
  for (const std::string& note : outcome.notes) text += note + "\n";
  return text;
}

// Two devices whose host steps are not the same, the first of them right.
TEST(TwoDevicesTest, TheOtherOneIsAtFaultWhereTheFirstAgreesWithTheReference) {
  CustomCallRegistry right, wrong;
  const auto times = [](float factor) {
    return [factor](void* out, const void** in) {
      for (int i = 0; i < 5; ++i) static_cast<float*>(out)[i] = factor * static_cast<const float*>(in[0])[i];
    };
  };
  right.Register("times", times(2));
  wrong.Register("times", times(3));
  EvaluateOptions right_options, wrong_options;
  right_options.custom_calls = &right;
  wrong_options.custom_calls = &wrong;
  DeviceOptions device;
  if (const char* wanted = std::getenv("VXLA_TEST_DEVICE")) device.device = wanted;
  const auto first = DiffSide::Open(device, {}, right_options), second = DiffSide::Open(device, {}, wrong_options);
  ASSERT_TRUE(first.ok() && second.ok());
  const Program program =
      ProgramOf("ENTRY e { x = f32[5] parameter(0)  ROOT c = f32[5] custom-call(x), custom_call_target=\"times\" }");
  const std::vector<const Literal*> pointers = program.pointers();
  const auto outcome = RunDiff(*program.module, pointers, **first, second->get(), std::nullopt, {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_FALSE(outcome->agrees());
  EXPECT_EQ(outcome->fault, "other device") << Summary(*outcome);
  const auto turned = RunDiff(*program.module, pointers, **second, first->get(), std::nullopt, {});
  ASSERT_TRUE(turned.ok()) << turned.status().message();
  EXPECT_FALSE(turned->agrees());
}

TEST(ToleranceTest, DefaultsAreOneInAHundredThousandAndAMillionthOfTheLargest) {
  for (const ElementType type : {ElementType::kF32, ElementType::kF64, ElementType::kC64}) {
    Literal expected(Shape(type, {3}));
    expected.SetComplex(1, -100);
    const Tolerance tolerance = Tolerance::DefaultFor(expected);
    EXPECT_EQ(tolerance.rtol, 1e-5);
    EXPECT_DOUBLE_EQ(tolerance.atol, 1e-4);
  }
  Literal narrow(Shape(ElementType::kBF16, {1}));
  narrow.SetDouble(0, 2);
  EXPECT_EQ(Tolerance::DefaultFor(narrow).rtol, 0x1p-6);
  EXPECT_EQ(Tolerance::DefaultFor(narrow).atol, 0x1p-5);
}

TEST(ToleranceTest, OneOfTwoThatIsStatedLeavesTheOthersDefault) {
  const Program program = ProgramOf(kCancelling);
  const Literal expected = Literal::Scalar(ElementType::kF32, 100);
  DiffOptions options;
  EXPECT_FALSE(options.stated());
  options.rtol = 1e-3;
  EXPECT_TRUE(options.stated());
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).rtol, 1e-3);
  EXPECT_DOUBLE_EQ(ToleranceOf(*program.module, expected, options).atol, 1e-4);
  options.rtol.reset();
  options.atol = 7;
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).rtol, 1e-5);
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).atol, 7);
  options.ulp = 3;
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).ulp, 3);
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).rtol, 1e-5);
  options.atol.reset();  // units in the last place alone leave nothing else
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).rtol, 0);
  EXPECT_EQ(ToleranceOf(*program.module, expected, options).atol, 0);
}

TEST(DiffLibraryTest, ALayerAgreesWhateverItsInnerSize) {
  for (const int64_t inner : {256, 512, 1024, 2048, 4096}) {
    const DiffOutcome outcome = DiffOf(ProgramOf(Layer(inner)));
    EXPECT_TRUE(outcome.agrees()) << inner << "\n" << Summary(outcome);
  }
}

TEST(DiffLibraryTest, WhatRoundingDoesToAProgramAgreesAndTheAmplificationIsNamed) {
  std::vector<std::string> steps;
  DiffOptions options;
  options.progress = [&](const std::string& step) { steps.push_back(step); };
  const DiffOutcome outcome = DiffOf(ProgramOf(kCancelling), options);
  EXPECT_TRUE(outcome.agrees()) << Summary(outcome);
  ASSERT_EQ(outcome.leaves.size(), 1u);
  EXPECT_EQ(outcome.leaves[0].judged_by, "conditioning") << Summary(outcome);
  ASSERT_TRUE(outcome.amplification().has_value());
  EXPECT_THAT(outcome.notes, ::testing::Contains(HasSubstr("the program amplifies rounding errors: by ")));
  EXPECT_THAT(steps, ::testing::Contains(HasSubstr("perturbed run 1 of 8")));
  EXPECT_THAT(steps, ::testing::Contains(HasSubstr("instruction 1 of ")));
}

TEST(DiffLibraryTest, AStatedToleranceIsAllThatCounts) {
  DiffOptions options;
  options.ulp = 0;
  const DiffOutcome outcome = DiffOf(ProgramOf(kCancelling), options);
  EXPECT_FALSE(outcome.agrees());
  EXPECT_EQ(outcome.fault, "rounding");
  EXPECT_EQ(outcome.leaves.at(0).judged_by, "tolerance");
}

TEST(DiffLibraryTest, TheLibraryAndTheCommandDecideByTheSameFunction) {
  const auto client =
      OpenClient(std::getenv("VXLA_TEST_DEVICE") != nullptr ? std::getenv("VXLA_TEST_DEVICE") : "vulkan");
  ASSERT_TRUE(client.ok()) << client.status().message();
  for (const std::string& hlo : {Layer(1024), std::string(kCancelling)}) {
    const Program program = ProgramOf(hlo);
    const auto agreement = CompareWithCpu(**client, *program.module, program.arguments);
    ASSERT_TRUE(agreement.ok()) << agreement.status().message();
    const DiffOutcome outcome = DiffOf(program);
    EXPECT_EQ(agreement->agrees(), outcome.agrees());
    EXPECT_EQ(agreement->outcome.leaves.at(0).judged_by, outcome.leaves.at(0).judged_by);
    EXPECT_EQ(agreement->outcome.leaves.at(0).comparison.mismatches, outcome.leaves.at(0).comparison.mismatches);
  }
}

TEST(DiffLibraryTest, AFileThatTheReferenceContradictsTooIsWhatIsWrong) {
  const Program program = ProgramOf(Layer(64));
  const std::vector<const Literal*> pointers = program.pointers();
  Literal right = *Evaluate(*program.module, pointers);
  EXPECT_TRUE(DiffOf(program, {}, std::vector{right}).agrees());
  Literal wrong = right;
  wrong.SetDouble(5, 0.75);
  for (const bool stated : {false, true}) {
    DiffOptions options;
    if (stated) options.rtol = 1e-4;
    const DiffOutcome outcome = DiffOf(program, options, std::vector{wrong});
    EXPECT_FALSE(outcome.agrees());
    EXPECT_EQ(outcome.fault, "expected file");
    EXPECT_EQ(outcome.first_bad, "result_0");
    EXPECT_THAT(outcome.notes, ::testing::Contains(HasSubstr("the expected file differs")));
  }
}

TEST(DiffLibraryTest, AFileThatRoundingExplainsAgrees) {
  const Program program = ProgramOf(kCancelling);
  const std::vector<const Literal*> pointers = program.pointers();
  PerturbationOptions options;
  Literal saved = *Perturbation(options).Run(*program.module, pointers, 99);  // as another implementation would
  const DiffOutcome outcome = DiffOf(program, {}, std::vector{saved});
  EXPECT_TRUE(outcome.agrees()) << Summary(outcome);
}

// Three runs of the same length whose order decides: comparisons of results that rounding moves.
TEST(DiffLibraryTest, IntegersThatHangOnRoundingAgree) {
  const DiffOutcome outcome = DiffOf(ProgramOf(
      "ENTRY e { x = f32[20000] parameter(0)  y = f32[20000] sine(x)  z = f32[20000] exponential(y)  k = f32[] "
      "constant(1e7)  kk = f32[20000] broadcast(k), dimensions={}\n"
      "  b = f32[20000] multiply(z, kk)  f = f32[20000] floor(b)  ROOT i = s32[20000] convert(f) }"));
  EXPECT_TRUE(outcome.agrees()) << Summary(outcome);
}

class RandomProgramsTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomProgramsTest, NoneIsCalledDifferent) {
  constexpr int kEach = 25;
  int again = 0;
  for (int k = 0; k < kEach; ++k) {
    const auto number = static_cast<uint64_t>(GetParam() * kEach + k);
    const std::string hlo = MakeRandomProgram(number).text;
    const Program program = ProgramOf(hlo, number);
    if (program.module == nullptr) continue;
    const DiffOutcome outcome = DiffOf(program);
    EXPECT_TRUE(outcome.agrees()) << "program " << number << "\n" << Summary(outcome) << hlo;
    again += outcome.amplification().has_value();
  }
  RecordProperty("judged_again", again);
}

INSTANTIATE_TEST_SUITE_P(TwoHundred, RandomProgramsTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
