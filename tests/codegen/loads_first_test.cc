#include "backend/vulkan/codegen/passes/loads_first.h"

#include <gtest/gtest.h>

namespace VXLA_NAMESPACE::vulkan {
namespace loads_first_test {

Statement Local(const std::string& type, const std::string& name, const std::string& value) {
  return {.kind = Statement::Kind::kDeclare, .type = type, .name = name, .value = Expression{value}};
}
Statement Raw(const std::string& text) { return {.kind = Statement::Kind::kRaw, .text = text}; }

// The names of what is declared, in their order; "-": something else.
std::string Order(std::vector<Statement> statements) {
  const Code code = LoadsFirst(Code(std::move(statements)));
  std::string names;
  for (const Statement& statement : code.statements())
    names += (names.empty() ? "" : " ") + (statement.Declares() ? statement.name : "-");
  return names;
}

TEST(LoadsFirstTest, CalculationsWaitForTheLoadsBehindThem) {
  EXPECT_EQ(Order({Local("float", "a", "LOAD(0, f32, i)"), Local("float", "b", "tanh_f32(a)"),
                   Local("uint", "j", "i + 1u"), Local("float", "c", "LOAD(1, f32, j)"), Local("float", "d", "b + c")}),
            "a j c b d");
}

TEST(LoadsFirstTest, WhatAPlaceFollowsFromDoesNotWait) {
  EXPECT_EQ(Order({Local("float", "a", "floor(x)"), Local("float", "b", "sin(x)"), Local("uint", "j", "uint(a)"),
                   Local("float", "c", "LOAD(1, f32, j)")}),
            "a j c b");
}

TEST(LoadsFirstTest, OrderStaysWhereNothingIsLoadedLater) {
  EXPECT_EQ(Order({Local("float", "a", "LOAD(0, f32, i)"), Local("float", "b", "a * a"), Local("uint", "j", "i + 1u"),
                   Local("float", "c", "b + 1.0f")}),
            "a b j c");
}

// Another statement may change what is loaded, or a local.
TEST(LoadsFirstTest, NothingMovesOverWhatIsNoDeclaration) {
  const auto with = [](Statement between) {
    return Order({Local("float", "a", "tanh_f32(x)"), std::move(between), Local("float", "b", "LOAD(0, f32, i)")});
  };
  EXPECT_EQ(with(Raw("x = 1.0f;\n")), "a - b");
  EXPECT_EQ(with({.kind = Statement::Kind::kStore, .tensor = "0"}), "a - b");
  EXPECT_EQ(with({.kind = Statement::Kind::kBarrier}), "a - b");
  EXPECT_EQ(with(Local("uint", "n", "atomicAdd(ELEMENT(0, u32, i), 1u)")), "a n b");
}

TEST(LoadsFirstTest, NoMoreComeForwardThanRegistersTake) {
  std::vector<Statement> statements = {Local("float", "a", "tanh_f32(x)")};
  for (int k = 0; k < 9; ++k)
    statements.push_back(Local("vec4", "l" + std::to_string(k), "LOAD(0, f32x4, " + std::to_string(k) + "u)"));
  EXPECT_EQ(Order(std::move(statements)), "l0 l1 l2 l3 l4 l5 l6 l7 a l8");
}

}  // namespace loads_first_test
}  // namespace VXLA_NAMESPACE::vulkan
