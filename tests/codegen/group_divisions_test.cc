#include "backend/vulkan/codegen/passes/group_divisions.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/codegen/codegen_test_support.h"
#include "tests/support/source_dir.h"
#include "tests/support/statements.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using statements::Call;
using statements::Float;
using statements::Local;
using statements::Quotient;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Grouped(Code code, DivisionText text = DivisionText::kMiddle) {
  return GroupDivisions(std::move(code), text).Print();
}
std::string Grouped(std::vector<Statement> statements, DivisionText text = DivisionText::kMiddle) {
  return Grouped(Code(std::move(statements)), text);
}
Statement Raw(std::string text) { return {.kind = Statement::Kind::kRaw, .text = std::move(text)}; }
Statement Sum(std::string name, std::string a, std::string b) {
  return Float(std::move(name), Call(MadeBy::kAdd, {std::move(a), std::move(b)}));
}
Statement Exponential(std::string name, std::string x) {
  return Float(std::move(name), Call(MadeBy::kExponential, {std::move(x)}));
}
Statement Load(std::string name, int i) {
  return Local(std::move(name), {fmt::format("LOAD(0, f32, {}u)", i)}, "float");
}
// Two quotients, the second of a difference, and a store of their sum.
std::vector<Statement> Two() {
  return {Quotient("v2", "v0.x", "v1"), Float("v3", Call(MadeBy::kSubtract, {"v0.y", "v1"})),
          Quotient("v4", "v3", "v1"), statements::StoreValues(1, "f32", {Stored("v2 + v4")}, "0u")};
}

TEST(GroupDivisionsTest, NeighboursShareOneTestAndOneCopyOfTheIntegers) {
  EXPECT_EQ(Grouped(Code::Function("void f()", Code(Two()))),
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

std::string FileText(const char* name) {
  std::ifstream file(std::string(SourceDir()) + "/tests/math/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text that tests/math/fused_test.cc computes with.
TEST(GroupDivisionsTest, MathTestsComputeWithIt) {
  EXPECT_EQ(Grouped({Quotient("v4", "a.x", "b.x"), Quotient("v5", "a.y", "b.x"), Quotient("v6", "a.z", "b.z"),
                     Quotient("v7", "a.w", "b.w")}),
            FileText("grouped_divisions.inc"));
}

TEST(GroupDivisionsTest, ExponentialsShareTheirRestAndDivisionsStandBehind) {
  EXPECT_EQ(
      Grouped({Exponential("v4", "a.x"), Exponential("v5", "a.y"), Exponential("v6", "a.z"), Exponential("v7", "a.w")}),
      FileText("grouped_exponentials.inc"));
  // One division of each row depends on an exponential, the other does not: all four are one group.
  const std::string grouped =
      Grouped({Quotient("v0", "a.x", "b"), Exponential("v1", "a.x"), Quotient("v2", "v1", "b"),
               Quotient("v3", "a.y", "b"), Exponential("v4", "a.y"), Quotient("v5", "v4", "b"),
               statements::StoreValues(0, "f32", {Stored("v0"), Stored("v2"), Stored("v3"), Stored("v5")})});
  EXPECT_EQ(Count(grouped, " = exponential_middle_f32("), 2) << grouped;
  EXPECT_EQ(Count(grouped, " = exponential_f32("), 1) << grouped;
  EXPECT_EQ(Count(grouped, " = divide_middle_f32("), 4) << grouped;
  EXPECT_EQ(Count(grouped, " = quotient_by_integers_f32("), 1) << grouped;
  EXPECT_EQ(Grouped({Exponential("v1", "v0")}), "  precise float v1 = exponential_f32(v0);\n");
}

TEST(GroupDivisionsTest, OneAloneHasATestOfItsOwn) {
  EXPECT_EQ(Grouped({Quotient("v2", "v0", "v1")}),
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

TEST(GroupDivisionsTest, OneThatNeedsAnotherOrStandsBehindAChangeIsAGroupOfItsOwn) {
  const std::vector<std::vector<Statement>> all = {
      {Quotient("v2", "v0", "v1"), Quotient("v3", "v2", "v1")},
      {Quotient("v2", "v0", "v1"), Raw("  v0 = v5;\n"), Quotient("v3", "v0", "v1")},
      {Quotient("v2", "v0", "v1"), {.kind = Statement::Kind::kClose, .depth = 1}, Quotient("v3", "v0", "v1")}};
  for (const auto& statements : all) {
    const std::string grouped = Grouped(statements);
    EXPECT_EQ(Count(grouped, "quotient_by_integers_f32("), 2) << grouped;
  }
  for (const Statement& alone : {Quotient("v2", "f(v0)", "v1"), Float("v2", Call(MadeBy::kOther, {"v0", "v1"})),
                                 Float("v2", Call(MadeBy::kDivide, {"v0", "v1"}, ElementType::kBF16))})
    EXPECT_EQ(Grouped({alone}), alone.Print());
}

// Of two places, each of which uses its quotient before the next one begins: what needs one moves behind both. A loop,
// a store and what passes do not look into end the group.
TEST(GroupDivisionsTest, WhatNeedsAQuotientMovesBehindTheGroup) {
  const std::string grouped = Grouped({Load("v1", 0), Quotient("v2", "s.x", "v1"), Sum("v3", "v2", "v1"),
                                       Quotient("v4", "v3", "v1"), Load("v5", 1), Quotient("v6", "s.y", "v5"),
                                       Sum("v7", "v6", "v5"), Quotient("v8", "v7", "v5"), Raw("  sums = v4 + v8;\n")});
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
  const std::vector<Statement> ends = {{.kind = Statement::Kind::kOpen, .depth = 1, .text = "for (;;)"},
                                       statements::StoreValues(0, "f32", {Stored("v2")}),
                                       Raw("  float other = f(v2);\n")};
  for (const Statement& end : ends) {
    const std::string apart = Grouped({Quotient("v2", "v0", "v1"), end, Quotient("v3", "v0", "v5")});
    EXPECT_EQ(Count(apart, "quotient_by_integers_f32("), 2) << apart;
  }
}

// v20 is not v2.
TEST(GroupDivisionsTest, NamesAreWhole) {
  EXPECT_THAT(Grouped({Quotient("v2", "v0", "v1"), Quotient("v3", "v20", "v1")}),
              HasSubstr("divide_middle_f32(v20, v1)"));
}

TEST(GroupDivisionsTest, AGroupHasAWordOfBits) {
  std::vector<Statement> many;
  for (int i = 0; i < 33; ++i) many.push_back(Quotient(fmt::format("q{}", i), fmt::format("a{}", i), "b"));
  const std::string grouped = Grouped(many);
  EXPECT_THAT(grouped, HasSubstr("? 2147483648u : 0u"));
  EXPECT_EQ(Count(grouped, "quotient_by_integers_f32("), 2);
  EXPECT_THAT(grouped, Not(HasSubstr("q31 = divide_f32")));
}

// Where no multiply-add is fused the integers are all that there is: behind them they would only be there once more.
TEST(GroupDivisionsTest, WithoutAMiddleDivisionsStayOrAreRolled) {
  EXPECT_EQ(Grouped(Two(), DivisionText::kApart), Code(Two()).Print());
  EXPECT_EQ(Grouped(Two(), DivisionText::kRolled),
            "  precise float v2 = 0.0f;\n"
            "  precise float v3 = subtract_f32(v0.y, v1);\n"
            "  precise float v4 = 0.0f;\n"
            "  [[dont_unroll]] for (uint at = 0u; at < 2u; ++at) {\n"
            "    precise float far = corrected_divide_f32(at == 0u ? v0.x : v3, v1);\n"
            "    v2 = at == 0u ? far : v2;\n"
            "    v4 = at == 1u ? far : v4;\n"
            "  }\n"
            "  STORE(1, f32, 0u, v2 + v4);\n");
  const Statement alone = Quotient("v2", "v0", "v1");
  EXPECT_EQ(Grouped({alone}, DivisionText::kRolled), alone.Print());
  std::vector<Statement> nine;
  for (int i = 0; i < 9; ++i) nine.push_back(Quotient(fmt::format("q{}", i), fmt::format("a{}", i), "b"));
  const std::string rolled = Grouped(nine, DivisionText::kRolled);
  EXPECT_THAT(rolled, HasSubstr("at < 8u"));
  EXPECT_THAT(rolled, HasSubstr("q8 = divide_f32(a8, b)")) << "one is left alone";
  const std::vector<Statement> exponentials = {Exponential("v1", "a.x"), Quotient("v2", "v1", "b"),
                                               Exponential("v3", "a.y"), Quotient("v4", "v3", "b")};
  EXPECT_EQ(Count(Grouped(exponentials, DivisionText::kRolled), "corrected_divide_f32("), 1);
  EXPECT_EQ(Count(Grouped(exponentials, DivisionText::kApart), " = exponential_middle_f32("), 2);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
