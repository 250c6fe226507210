// The table of accuracy and the rules for accumulations.
#include "core/numerics/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

TEST(AccuracyTest, NarrowFloatsAreCorrectlyRoundedAndIntegersExact) {
  for (ElementType type : {ElementType::kF16, ElementType::kBF16, ElementType::kF8E4M3FN, ElementType::kF4E2M1FN}) {
    EXPECT_EQ(AccuracyOf(Opcode::kTanh, type).ulp, 0.5);
    EXPECT_EQ(UlpBudget(AccuracyOf(Opcode::kTanh, type)), 0);
  }
  EXPECT_EQ(AccuracyOf(Opcode::kPower, ElementType::kS32).ulp, 0);
  EXPECT_EQ(AccuracyOf(Opcode::kAnd, ElementType::kPred).ulp, 0);
}

TEST(AccuracyTest, RowsAreFoundByOpcodeTextAndByFunctionName) {
  EXPECT_EQ(AccuracyOf(Opcode::kExpm1, ElementType::kF32).ulp, 1);
  EXPECT_EQ(AccuracyOfFunction("exponential_minus_one", ElementType::kF32).ulp, 1);
  EXPECT_EQ(AccuracyOfFunction("exponential-minus-one", ElementType::kF64).ulp, 2);
  EXPECT_EQ(AccuracyOf(Opcode::kDivide, ElementType::kF32).ulp, 0.5);
  EXPECT_EQ(AccuracyOf(Opcode::kTranspose, ElementType::kF32).ulp, 0);
  EXPECT_GT(AccuracyOfFunction("lgamma", ElementType::kF32).absolute, 0);
  EXPECT_EQ(AccuracyOf(Opcode::kExpm1, ElementType::kC64).norm, 1);
  EXPECT_THROW(AccuracyOfFunction("sinus", ElementType::kF32), InternalError);
}

TEST(AccuracyTest, EveryElementwiseFunctionOfTheIssueHasARow) {
  for (std::string_view name : AccuracyFunctions()) {
    EXPECT_GT(AccuracyOfFunction(name, ElementType::kF32).ulp + AccuracyOfFunction(name, ElementType::kC64).ulp, 0)
        << name;
    EXPECT_LE(AccuracyOfFunction(name, ElementType::kF32).ulp, 2) << name;
    EXPECT_LE(AccuracyOfFunction(name, ElementType::kF64).ulp, 2) << name;
  }
}

TEST(AccuracyTest, BudgetIsTheDistanceFromTheRoundedExactValue) {
  EXPECT_EQ(UlpBudget({0, 0, 0}), 0);
  EXPECT_EQ(UlpBudget({0.5, 0, 0}), 0);
  EXPECT_EQ(UlpBudget({1, 0, 0}), 1);
  EXPECT_EQ(UlpBudget({2, 0, 0}), 2);
}

TEST(AccuracyTest, AccumulationFollowsItsLength) {
  EXPECT_EQ(AccumulationOf(ElementType::kF32, 0).certain, 0);
  EXPECT_EQ(AccumulationOf(ElementType::kF32, 1).certain, 2 * 0x1p-24);
  EXPECT_EQ(AccumulationOf(ElementType::kF32, 1).likely, 2 * 0x1p-24);
  const AccumulationBound million = AccumulationOf(ElementType::kF32, 999999);
  EXPECT_EQ(million.certain, 1e6 * 0x1p-24);
  EXPECT_DOUBLE_EQ(million.likely, 12e3 * 0x1p-24);
  EXPECT_EQ(AccumulationOf(ElementType::kBF16, 7).certain, 8 * 0x1p-8);
  EXPECT_EQ(AccumulationOf(ElementType::kC128, 7).certain, 8 * 0x1p-53);
  EXPECT_EQ(AccumulationOf(ElementType::kS32, 7).certain, 0);
}

int64_t RootLength(const char* text) {
  auto module = ParseHlo(text);
  if (!module.ok()) {
    ADD_FAILURE() << module.status().message();
    return -1;
  }
  return AccumulationLength(*(*module)->entry()->root());
}

TEST(AccuracyTest, LengthIsWhatOneElementAddsUp) {
  EXPECT_EQ(RootLength(R"(HloModule m
ENTRY e {
  a = f32[3,5,7] parameter(0)
  b = f32[7,5,2] parameter(1)
  ROOT d = f32[3,2] dot(a, b), lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}
})"),
            35);
  EXPECT_EQ(RootLength(R"(HloModule m
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ENTRY e {
  a = f32[3,5,7] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[5] reduce(a, z), dimensions={0,2}, to_apply=sum
})"),
            21);
  EXPECT_EQ(RootLength(R"(HloModule m
ENTRY e {
  a = f32[2,8,8,3] parameter(0)
  k = f32[5,5,3,4] parameter(1)
  ROOT c = f32[2,4,4,4] convolution(a, k), window={size=5x5}, dim_labels=b01f_01io->b01f
})"),
            75);
  EXPECT_EQ(RootLength("HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  ROOT t = f32[3] tanh(a)\n}"), 0);
}

TEST(AccuracyTest, AbsOfAComplexNumberRounds) {
  auto module = ParseHlo("HloModule m\nENTRY e {\n  a = c64[3] parameter(0)\n  ROOT t = f32[3] abs(a)\n}");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(AccuracyOf(*(*module)->entry()->root()).ulp, 1);
  EXPECT_EQ(AccuracyOf(Opcode::kAbs, ElementType::kF32).ulp, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
