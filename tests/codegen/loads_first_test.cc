#include "backend/vulkan/codegen/passes/loads_first.h"

#include <gtest/gtest.h>

namespace VXLA_NAMESPACE::vulkan {
namespace loads_first_test {

Statement Local(const std::string& type, const std::string& name, const std::string& value) {
  return {.kind = Statement::Kind::kDeclare, .type = type, .name = name, .value = Expression{value}};
}
// Loads its place from tensor 0.
Statement Load(const std::string& name, const std::string& index, int count = 1) {
  return {.kind = Statement::Kind::kDeclare,
          .type = count == 1 ? "float" : "vec4",
          .name = name,
          .value = Expression(Elements{"0", "f32", count, index})};
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
  EXPECT_EQ(Order({Load("a", "i"), Local("float", "b", "tanh_f32(a)"), Local("uint", "j", "i + 1u"), Load("c", "j"),
                   Local("float", "d", "b + c")}),
            "a j c b d");
}

TEST(LoadsFirstTest, WhatAPlaceFollowsFromDoesNotWait) {
  EXPECT_EQ(Order({Local("float", "a", "floor(x)"), Local("float", "b", "sin(x)"), Local("uint", "j", "uint(a)"),
                   Load("c", "j")}),
            "a j c b");
}

TEST(LoadsFirstTest, ConstantsAreNotWaitedFor) {
  const Statement constant = {.kind = Statement::Kind::kDeclare,
                              .type = "float",
                              .name = "c",
                              .value = Expression("uintBitsToFloat(P(0))", MadeBy::kConstant)};
  EXPECT_EQ(Order({Load("a", "i"), constant, Load("b", "j")}), "a c b");
}

TEST(LoadsFirstTest, OrderStaysWhereNothingIsLoadedLater) {
  EXPECT_EQ(Order({Load("a", "i"), Local("float", "b", "a * a"), Local("uint", "j", "i + 1u"),
                   Local("float", "c", "b + 1.0f")}),
            "a b j c");
}

// Another statement may change what is loaded, or a local.
TEST(LoadsFirstTest, NothingMovesOverWhatIsNoDeclaration) {
  const auto with = [](Statement between) {
    return Order({Local("float", "a", "tanh_f32(x)"), std::move(between), Load("b", "i")});
  };
  EXPECT_EQ(with(Raw("x = 1.0f;\n")), "a - b");
  EXPECT_EQ(with({.kind = Statement::Kind::kStore, .target = {"0", "f32", 1, "i"}}), "a - b");
  EXPECT_EQ(with({.kind = Statement::Kind::kBarrier}), "a - b");
  EXPECT_EQ(with(Raw("uint n = atomicAdd(ELEMENT(0, u32, i), 1u);\n")), "a - b");
}

TEST(LoadsFirstTest, NoMoreComeForwardThanRegistersTake) {
  std::vector<Statement> statements = {Local("float", "a", "tanh_f32(x)")};
  for (int k = 0; k < 9; ++k) statements.push_back(Load("l" + std::to_string(k), std::to_string(k) + "u", 4));
  EXPECT_EQ(Order(std::move(statements)), "l0 l1 l2 l3 l4 l5 l6 l7 a l8");
}

}  // namespace loads_first_test
}  // namespace VXLA_NAMESPACE::vulkan
