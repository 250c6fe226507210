// Rounds of phases whose text stands once (codegen/passes/repeat_phases.h).
#include "backend/vulkan/codegen/passes/repeat_phases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A phase that reads and writes these tensors, long enough for a few of them to be worth a loop.
LoopPhase Phase(const std::string& kind, int from, int to, bool waits = false) {
  CodeWriter writer;
  writer.OpenBlock("if (true)");
  writer.Declare("float", "x", Expression(Elements{std::to_string(from), "f32", 1, "i"}));
  writer.Line("//" + std::string(5000, '.'));
  writer.Add({.kind = Statement::Kind::kStore,
              .target = {std::to_string(to), "f32", 1, "i"},
              .values = {fmt::format("{}(x)", kind)}});
  writer.CloseBlock();
  return {writer.Take(), waits};
}

size_t CountOf(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

bool Has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(RepeatPhasesTest, LayersStandOnce) {
  std::vector<LoopPhase> phases = {Phase("first", 0, 1)};
  for (int layer = 0; layer < 3; ++layer) {
    phases.push_back(Phase("product", 1, 10 + layer, layer == 2));
    phases.push_back(Phase("norm", 10 + layer, 1));
  }
  phases.push_back(Phase("last", 1, 2));
  const std::string text = RepeatPhases(phases, "turn").Print();
  EXPECT_EQ(CountOf(text, "product("), 1u);
  EXPECT_EQ(CountOf(text, "norm("), 1u);
  EXPECT_TRUE(Has(text, "[[dont_unroll]] for (uint turn = 0u; turn < 3u; ++turn) {\n")) << text;
  // One turn waits, so all do; what all turns read is named as it is.
  EXPECT_EQ(CountOf(text, "PHASE"), 1u);
  EXPECT_TRUE(Has(text, "uvec2 address_turn_0 = turn == 0u ? address_10 : turn == 1u ? address_11 : address_12;\n"));
  EXPECT_TRUE(Has(text, "float x = LOAD(1, f32, i);"));
  EXPECT_TRUE(Has(text, "STORE(turn_0, f32, i, product(x));"));
  EXPECT_LT(text.find("first("), text.find("for (uint turn"));
  EXPECT_GT(text.find("last("), text.find("norm("));
}

TEST(RepeatPhasesTest, OfAGridAllWaitAndReadWhatOthersWrote) {
  std::vector<LoopPhase> phases;
  for (int layer = 0; layer < 3; ++layer) phases.push_back(Phase("product", 1, 10 + layer, true));
  const std::string text = RepeatPhases(phases, "turn", /*of_grid=*/true).Print();
  EXPECT_EQ(CountOf(text, "PHASE"), 0u);
  EXPECT_EQ(CountOf(text, "grid_barrier();\n"), 1u) << text;
  EXPECT_TRUE(Has(text, "\n#define TENSOR_BLOCK_turn_0(tag) Coherent_##tag\n")) << text;
}

TEST(RepeatPhasesTest, APhaseOfSomeTurnsIsAskedFor) {
  std::vector<LoopPhase> phases;
  for (int turn = 0; turn < 3; ++turn) {
    phases.push_back(Phase("a", 3 * turn, 3 * turn + 1));
    phases.push_back(Phase(turn == 0 ? "gather" : "add", 3 * turn + 1, 3 * turn + 2));
    phases.push_back(Phase("b", 3 * turn + 2, 3 * turn + 3));
  }
  const std::string text = RepeatPhases(phases, "turn").Print();
  EXPECT_EQ(CountOf(text, " a(x)"), 1u);
  EXPECT_EQ(CountOf(text, " b(x)"), 1u);
  EXPECT_TRUE(Has(text, "if (((1u << turn) & 1u) != 0u) {\n  if (true) {\n    float x = LOAD(1, f32, i);")) << text;
  EXPECT_TRUE(Has(text, "STORE(2, f32, i, gather(x));"));
  EXPECT_TRUE(Has(text, "if (((1u << turn) & 6u) != 0u) {\n{\nuvec2 address_turn_")) << text;
  EXPECT_EQ(CountOf(text, "add(x)"), 1u);
  EXPECT_FALSE(Has(text, "PHASE"));
}

TEST(RepeatPhasesTest, WhatRepeatsLittleIsLeft) {
  const auto opaque = [](int tensor) {
    LoopPhase phase = Phase("a", 0, 1);
    phase.code += fmt::format("  x = LOAD({}, f32, i);\n", tensor);
    return phase;
  };
  // Equal but for a register, for a tensor that a raw line names, all different, and short.
  const std::vector<std::vector<LoopPhase>> all = {
      {opaque(1), opaque(2)},
      {Phase("r1 + ", 0, 1), Phase("r2 + ", 1, 2)},
      {Phase("a", 0, 1), Phase("b", 1, 2), Phase("c", 2, 3)},
      {{"STORE(1, f32, i, LOAD(0, f32, i));\n", true}, {"STORE(2, f32, i, LOAD(1, f32, i));\n", true}}};
  for (const std::vector<LoopPhase>& phases : all) {
    std::string as_is;
    for (const LoopPhase& phase : phases) as_is += (phase.waits ? "PHASE\n" : "") + phase.code.Print();
    EXPECT_EQ(RepeatPhases(phases, "turn").Print(), as_is);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
