#include "backend/vulkan/codegen/group_far_operands.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/codegen/codegen_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Grouped(std::string_view text) { return GroupFarOperands(text, DivisionText::kMiddle); }

TEST(GroupFarOperandsTest, NeighboursShareOneTestAndOneCopyOfTheIntegers) {
  EXPECT_EQ(Grouped("void f() {\n"
                    "  precise float v2 = divide_f32(v0.x, v1);\n"
                    "  precise float v3 = subtract_f32(v0.y, v1);\n"
                    "  precise float v4 = divide_f32(v3, v1);\n"
                    "  STORE(1, f32, 0u, v2 + v4);\n"
                    "}\n"),
            "void f() {\n"
            "  precise float v2 = divide_middle_f32(v0.x, v1);\n"
            "  precise float v3 = subtract_f32(v0.y, v1);\n"
            "  precise float v4 = divide_middle_f32(v3, v1);\n"
            "  if (max(max(far_f32(v0.x), far_f32(v1)), far_f32(v3)) >= 0x7b000000u) {\n"
            "    uint left_v2 = 0u;\n"
            "    v2 = special_or_f32(v0.x, v1, v2);\n"
            "    left_v2 |= leaves_middle_f32(v0.x, v1) ? 1u : 0u;\n"
            "    v4 = special_or_f32(v3, v1, v4);\n"
            "    left_v2 |= leaves_middle_f32(v3, v1) ? 2u : 0u;\n"
            "    [[dont_unroll]] for (; left_v2 != 0u; left_v2 &= left_v2 - 1u) {\n"
            "      uint at = uint(findLSB(left_v2));\n"
            "      precise float far = quotient_by_integers_f32(at == 0u ? v0.x : v3, v1);\n"
            "      v2 = at == 0u ? far : v2;\n"
            "      v4 = at == 1u ? far : v4;\n"
            "    }\n"
            "  }\n"
            "  STORE(1, f32, 0u, v2 + v4);\n"
            "}\n");
}

// The text that tests/math/fused_test.cc computes with.
TEST(GroupFarOperandsTest, MathTestsComputeWithIt) {
  std::ifstream file(std::string(SourceDir()) + "/tests/math/grouped_divisions.inc");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Grouped("  precise float v4 = divide_f32(a.x, b.x);\n  precise float v5 = divide_f32(a.y, b.x);\n"
                    "  precise float v6 = divide_f32(a.z, b.z);\n  precise float v7 = divide_f32(a.w, b.w);\n"),
            text.str());
}

TEST(GroupFarOperandsTest, ExponentialsShareTheirRestAndDivisionsStandBehind) {
  std::ifstream file(std::string(SourceDir()) + "/tests/math/grouped_exponentials.inc");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Grouped("  precise float v4 = exponential_f32(a.x);\n  precise float v5 = exponential_f32(a.y);\n"
                    "  precise float v6 = exponential_f32(a.z);\n  precise float v7 = exponential_f32(a.w);\n"),
            text.str());
  // One division of each row depends on an exponential, the other does not: all four are one group.
  const std::string grouped = Grouped(
      "  precise float v0 = divide_f32(a.x, b);\n  precise float v1 = exponential_f32(a.x);\n"
      "  precise float v2 = divide_f32(v1, b);\n  precise float v3 = divide_f32(a.y, b);\n"
      "  precise float v4 = exponential_f32(a.y);\n  precise float v5 = divide_f32(v4, b);\n  STORE(v0, v2, v3, "
      "v5);\n");
  EXPECT_EQ(Count(grouped, " = exponential_middle_f32("), 2) << grouped;
  EXPECT_EQ(Count(grouped, " = exponential_f32("), 1) << grouped;
  EXPECT_EQ(Count(grouped, " = divide_middle_f32("), 4) << grouped;
  EXPECT_EQ(Count(grouped, " = quotient_by_integers_f32("), 1) << grouped;
  const std::string alone = "  precise float v1 = exponential_f32(v0);\n";
  EXPECT_EQ(Grouped(alone), alone);
}

TEST(GroupFarOperandsTest, OneAloneHasATestOfItsOwn) {
  EXPECT_EQ(Grouped("  precise float v2 = divide_f32(v0, v1);\n"),
            "  precise float v2 = divide_middle_f32(v0, v1);\n"
            "  if (max(far_f32(v0), far_f32(v1)) >= 0x7b000000u) {\n"
            "    uint left_v2 = 0u;\n"
            "    v2 = special_or_f32(v0, v1, v2);\n"
            "    left_v2 |= leaves_middle_f32(v0, v1) ? 1u : 0u;\n"
            "    [[dont_unroll]] for (; left_v2 != 0u; left_v2 &= left_v2 - 1u) {\n"
            "      uint at = uint(findLSB(left_v2));\n"
            "      precise float far = quotient_by_integers_f32(v0, v1);\n"
            "      v2 = at == 0u ? far : v2;\n"
            "    }\n"
            "  }\n");
}

TEST(GroupFarOperandsTest, OneThatNeedsAnotherOrStandsBehindAChangeIsAGroupOfItsOwn) {
  for (const char* text :
       {"  precise float v2 = divide_f32(v0, v1);\n  precise float v3 = divide_f32(v2, v1);\n",
        "  precise float v2 = divide_f32(v0, v1);\n  v0 = v5;\n"
        "  precise float v3 = divide_f32(v0, v1);\n",
        "  precise float v2 = divide_f32(v0, v1);\n  }\n  precise float v3 = divide_f32(v0, v1);\n"}) {
    EXPECT_EQ(Count(Grouped(text), "quotient_by_integers_f32("), 2) << text;
  }
  for (const char* line :
       {"  precise float v2 = divide_f32(f(v0), v1);\n", "  precise float v2 = other_divide_f32(v0, v1);\n"})
    EXPECT_EQ(Grouped(line), line);
}

// Of two places, each of which uses its quotient before the next one begins: what needs one moves behind both. A loop,
// a store and what is no value of the writer's end the group.
TEST(GroupFarOperandsTest, WhatNeedsAQuotientMovesBehindTheGroup) {
  const std::string grouped = Grouped(
      "  float v1 = LOAD(0, f32, 0u);\n"
      "  precise float v2 = divide_f32(s.x, v1);\n"
      "  precise float v3 = add_f32(v2, v1);\n"
      "  precise float v4 = divide_f32(v3, v1);\n"
      "  float v5 = LOAD(0, f32, 1u);\n"
      "  precise float v6 = divide_f32(s.y, v5);\n"
      "  precise float v7 = add_f32(v6, v5);\n"
      "  precise float v8 = divide_f32(v7, v5);\n"
      "  sums = v4 + v8;\n");
  std::vector<std::string> lines;
  std::istringstream text(grouped);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("  precise ") || line.starts_with("  float ") || line.starts_with("  if ") ||
        line.starts_with("  sums"))
      lines.push_back(line.substr(2, line.find_first_of("=(") - 3));
  }
  EXPECT_THAT(lines, ::testing::ElementsAre("float v1", "precise float v2", "float v5", "precise float v6", "if",
                                            "precise float v3", "precise float v4", "precise float v7",
                                            "precise float v8", "if", "sums"));
  for (const char* text : {"  for (;;) {\n", "  STORE(0, f32, 0u, v2);\n", "  float other = f(v2);\n"}) {
    const std::string apart =
        fmt::format("  precise float v2 = divide_f32(v0, v1);\n{}  precise float v3 = divide_f32(v0, v5);\n", text);
    EXPECT_EQ(Count(Grouped(apart), "quotient_by_integers_f32("), 2) << apart;
  }
}

// v20 is not v2.
TEST(GroupFarOperandsTest, NamesAreWhole) {
  EXPECT_THAT(Grouped("  precise float v2 = divide_f32(v0, v1);\n  precise float v3 = divide_f32(v20, v1);\n"),
              HasSubstr("divide_middle_f32(v20, v1)"));
}

TEST(GroupFarOperandsTest, AGroupHasAWordOfBits) {
  std::string text;
  for (int i = 0; i < 33; ++i)
    text += "  precise float q" + std::to_string(i) + " = divide_f32(a" + std::to_string(i) + ", b);\n";
  const std::string grouped = Grouped(text);
  EXPECT_THAT(grouped, HasSubstr("? 2147483648u : 0u"));
  EXPECT_EQ(Count(grouped, "quotient_by_integers_f32("), 2);
  EXPECT_THAT(grouped, Not(HasSubstr("q31 = divide_f32")));
}

// Where no multiply-add is fused the integers are all that there is: behind them they would only be there once more.
TEST(GroupFarOperandsTest, WithoutAMiddleDivisionsStayOrAreRolled) {
  const std::string two =
      "  precise float v2 = divide_f32(v0.x, v1);\n  precise float v3 = subtract_f32(v0.y, v1);\n"
      "  precise float v4 = divide_f32(v3, v1);\n  STORE(1, f32, 0u, v2 + v4);\n";
  EXPECT_EQ(GroupFarOperands(two, DivisionText::kApart), two);
  EXPECT_EQ(GroupFarOperands(two, DivisionText::kRolled),
            "  precise float v2 = 0.0f;\n"
            "  precise float v3 = subtract_f32(v0.y, v1);\n"
            "  precise float v4 = 0.0f;\n"
            "  [[dont_unroll]] for (uint at = 0u; at < 2u; ++at) {\n"
            "    precise float far = corrected_divide_f32(at == 0u ? v0.x : v3, v1);\n"
            "    v2 = at == 0u ? far : v2;\n"
            "    v4 = at == 1u ? far : v4;\n"
            "  }\n"
            "  STORE(1, f32, 0u, v2 + v4);\n");
  const std::string alone = "  precise float v2 = divide_f32(v0, v1);\n";
  EXPECT_EQ(GroupFarOperands(alone, DivisionText::kRolled), alone);
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += fmt::format("  precise float q{} = divide_f32(a{}, b);\n", i, i);
  const std::string rolled = GroupFarOperands(nine, DivisionText::kRolled);
  EXPECT_THAT(rolled, HasSubstr("at < 8u"));
  EXPECT_THAT(rolled, HasSubstr("q8 = divide_f32(a8, b)")) << "one is left alone";
  const std::string exponentials =
      "  precise float v1 = exponential_f32(a.x);\n  precise float v2 = divide_f32(v1, b);\n"
      "  precise float v3 = exponential_f32(a.y);\n  precise float v4 = divide_f32(v3, b);\n";
  EXPECT_EQ(Count(GroupFarOperands(exponentials, DivisionText::kRolled), "corrected_divide_f32("), 1);
  EXPECT_EQ(Count(GroupFarOperands(exponentials, DivisionText::kApart), " = exponential_middle_f32("), 2);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
