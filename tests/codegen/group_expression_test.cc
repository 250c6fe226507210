// Group counts of custom kernels.
#include <gtest/gtest.h>

#include "backend/vulkan/lower/custom/custom_call.h"

namespace VXLA_NAMESPACE::vulkan::group_expression_test {
namespace {

std::optional<double> Names(std::string_view name) {
  if (name == "n") return 1000;
  if (name == "IN0_DIM1") return 7;
  return std::nullopt;
}
double Value(std::string_view text) {
  const Result<double> value = EvaluateGroups(text, Names);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : -1;
}
std::string Refusal(std::string_view text) { return EvaluateGroups(text, Names).status().message(); }

TEST(GroupExpressionTest, HasTheValuesOfItsOperations) {
  EXPECT_EQ(Value("12"), 12);
  EXPECT_EQ(Value("ceil(n/64)"), 16);
  EXPECT_EQ(Value(" ceil( n / 125 ) "), 8);
  EXPECT_EQ(Value("floor(n / 64) + 2 * IN0_DIM1 - 1"), 28);
  EXPECT_EQ(Value("max(1, min(n, IN0_DIM1)) * (2 + 3)"), 35);
  EXPECT_EQ(Value("100 - 10 - 5"), 85);
  EXPECT_EQ(Value("64 / 4 / 2"), 8);
}

TEST(GroupExpressionTest, SaysWhatIsWrong) {
  EXPECT_EQ(Refusal(""), "groups \"\": a number, a name or '(' expected at character 0");
  EXPECT_EQ(Refusal("2 +"), "groups \"2 +\": a number, a name or '(' expected at character 3");
  EXPECT_EQ(Refusal("(2"), "groups \"(2\": ')' expected at character 2");
  EXPECT_EQ(Refusal("m / 2"), "groups \"m / 2\": there is no m here");
  EXPECT_EQ(Refusal("n / (7 - IN0_DIM1)"), "groups \"n / (7 - IN0_DIM1)\": a division by 0");
  EXPECT_EQ(Refusal("sqrt(n)"), "groups \"sqrt(n)\": sqrt is none of ceil, floor, min, max");
  EXPECT_EQ(Refusal("2 3"), "groups \"2 3\": the end expected at character 2");
  EXPECT_EQ(Refusal(std::string(500, '(')).substr(0, 8), "groups \"");
}

TEST(GroupExpressionTest, AShapeRuleHoldsOrSaysWhatIsThere) {
  const auto rule = [](std::string_view text) { return CheckShapeRule(text, Names).message(); };
  for (const char* holds : {"n == 1000", "IN0_DIM1 != 8", "n / IN0_DIM1 > 142", "IN0_DIM1<=7", "7 >= IN0_DIM1",
                            "ceil(n / 64) < 17", "n - 10 * floor(n / 10) == 0"})
    EXPECT_EQ(rule(holds), "");
  EXPECT_EQ(rule("n == 7 * IN0_DIM1"), "it takes shapes with n == 7 * IN0_DIM1, and here that is 1000 == 49");
  EXPECT_EQ(rule("IN0_DIM1 > 7"), "it takes shapes with IN0_DIM1 > 7, and here that is 7 > 7");
  EXPECT_EQ(rule("n"), "shape \"n\": no comparison (==, !=, <=, >=, <, >) is there");
  EXPECT_EQ(rule("m == 2"), "shape \"m \": there is no m here");
  EXPECT_EQ(rule("n == "), "shape \" \": a number, a name or '(' expected at character 1");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan::group_expression_test
