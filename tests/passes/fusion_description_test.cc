#include "core/passes/fuse/fusion_description.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/passes/base/pipeline.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace fusion_description_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kReducers[] = R"(
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
)";

std::unique_ptr<Module> Parse(const std::string& text) {
  auto module = ParseHlo(text);
  VXLA_CHECK(module.ok(), module.status().message());
  return std::move(*module);
}

// The only fusion that the program becomes.
const Instruction& OnlyFusion(const Module& module) {
  const Instruction* found = nullptr;
  for (const auto& i : module.entry()->instructions()) {
    if (i->opcode() != Opcode::kFusion) continue;
    EXPECT_EQ(found, nullptr) << "more than one fusion";
    found = i.get();
  }
  VXLA_CHECK(found != nullptr, "no fusion");
  return *found;
}

std::vector<std::string> Names(const std::vector<const Instruction*>& instructions) {
  std::vector<std::string> names;
  for (const Instruction* i : instructions) names.push_back(i->name());
  return names;
}

TEST(FusionDescriptionTest, OfSoftmaxNamesItsReducesItsRowsAndItsPhases) {
  const auto module = Parse(std::string(kReducers) + R"(
ENTRY e {
  x = f32[32,100] parameter(0)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  n = f32[32,100] negate(x)
  m = f32[32] reduce(n, lowest), dimensions={1}, to_apply=max
  mb = f32[32,100] broadcast(m), dimensions={0}
  s = f32[32,100] subtract(n, mb)
  p = f32[32,100] exponential(s)
  z = f32[32] reduce(p, zero), dimensions={1}, to_apply=add
  zb = f32[32,100] broadcast(z), dimensions={0}
  ROOT y = f32[32,100] divide(p, zb)
})");
  const auto optimized = Optimize(*module, {});
  ASSERT_TRUE(optimized.ok());
  const auto description = DescribeFusion(OnlyFusion(**optimized));
  ASSERT_TRUE(description.ok()) << description.status().message();
  EXPECT_EQ(description->hero->name(), "m");
  EXPECT_THAT(Names(description->heroes), ElementsAre("m", "z"));
  EXPECT_THAT(Names(description->roots), ElementsAre("y"));
  EXPECT_THAT(Names(description->epilogue), ElementsAre("mb", "s", "p", "zb", "y"));
  EXPECT_EQ(description->phases, 2);
  EXPECT_EQ(description->rows->rows, 32);
  EXPECT_EQ(description->rows->row_size, 100);
  EXPECT_EQ(description->PhaseOf(*description->heroes[0]), 1);
  EXPECT_EQ(description->PhaseOf(*description->heroes[1]), 2);
  EXPECT_THAT(Names(description->prologue), ::testing::IsSupersetOf({"n", "mb", "s", "p"}));
  EXPECT_THAT(description->in_place, IsEmpty());
}

TEST(FusionDescriptionTest, OfAProductTellsWhatFeedsItFromWhatFollows) {
  const auto module = Parse(R"(
ENTRY e {
  x = f32[7,5] parameter(0)
  y = f32[5,3] parameter(1)
  b = f32[7,3] parameter(2)
  n = f32[7,5] negate(x)
  d = f32[7,3] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[7,3] add(d, b)
  ROOT t = f32[7,3] tanh(s)
})");
  const auto optimized = Optimize(*module, {});
  ASSERT_TRUE(optimized.ok());
  const auto description = DescribeFusion(OnlyFusion(**optimized));
  ASSERT_TRUE(description.ok()) << description.status().message();
  EXPECT_EQ(description->hero->name(), "d");
  EXPECT_THAT(Names(description->prologue), ElementsAre("n"));
  EXPECT_THAT(Names(description->epilogue), ElementsAre("s", "t"));
  EXPECT_EQ(description->phases, 1);
  EXPECT_FALSE(description->rows.has_value());
}

// They came in that of their addresses, and so kernels of one program had other texts in other runs.
TEST(FusionDescriptionTest, OperandsComeInTheOrderOfParameters) {
  std::string fused = "fused { ", entry = "ENTRY e { ", last = "p0";
  for (int i = 0; i < 40; ++i) {
    fused += fmt::format("p{0} = f32[7] parameter({0})  ", i);
    entry += fmt::format("x{0} = f32[7] parameter({0})  ", i);
    if (i == 0) continue;
    fused += fmt::format("{}s{} = f32[7] add({}, p{})  ", i == 39 ? "ROOT " : "", i, last, i);
    last = fmt::format("s{}", i);
  }
  entry += "ROOT f = f32[7] fusion(x0";
  for (int i = 1; i < 40; ++i) entry += fmt::format(", x{}", i);
  const auto module = Parse(fused + "}\n" + entry + "), kind=kLoop, calls=fused }");
  const auto description = DescribeFusion(*module->entry()->root());
  ASSERT_TRUE(description.ok()) << description.status().message();
  int64_t next = 0;
  for (const auto& [inside, operand] : description->operands) {
    EXPECT_EQ(inside->parameter_number(), next);
    EXPECT_EQ(operand, module->entry()->parameter(next++));
  }
  EXPECT_EQ(next, 40);
}

TEST(FusionDescriptionTest, IsCarriedUntilTheFusionChanges) {
  const auto module = Parse("ENTRY e { x = f32[7] parameter(0)  y = f32[7] parameter(1)  ROOT n = f32[7] negate(x) }");
  auto optimized = Optimize(*module, {});
  ASSERT_TRUE(optimized.ok());
  Instruction& fusion = *(*optimized)->entry()->root();
  EXPECT_NE(*DescriptionOf(fusion), *DescriptionOf(fusion));  // made anew
  DescribeFusions(**optimized);
  const std::shared_ptr<const FusionDescription> description = *DescriptionOf(fusion);
  EXPECT_EQ(description, *DescriptionOf(fusion));
  EXPECT_EQ(description->instruction, &fusion);
  EXPECT_EQ((*optimized)->Clone()->entry()->root()->description(), nullptr);
  fusion.ReplaceOperand(0, (*optimized)->entry()->parameter(1));
  EXPECT_EQ(fusion.description(), nullptr);
  EXPECT_NE(description, *DescriptionOf(fusion));
  DescribeFusions(**optimized);
  ForgetDescriptions(**optimized);
  EXPECT_EQ(fusion.description(), nullptr);
}

TEST(FusionDescriptionTest, OfAReductionOfAProductTellsWhatFollows) {
  const auto module = Parse(std::string(kReducers) + R"(
fused { x = f32[7,7] parameter(0)  z = f32[] constant(0)  b = f32[7] parameter(1)
  d = f32[7,7] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[7] reduce(d, z), dimensions={1}, to_apply=add  m = f32[7] multiply(b, b)  ROOT r = f32[7] subtract(m, s) }
ENTRY e { x = f32[7,7] parameter(0)  b = f32[7] parameter(1)
  ROOT f = f32[7] fusion(x, b), kind=kCustom, calls=fused })");
  const auto description = DescribeFusion(*module->entry()->root());
  ASSERT_TRUE(description.ok()) << description.status().message();
  ASSERT_TRUE(description->chain.has_value());
  EXPECT_EQ(description->hero->name(), "s");
  EXPECT_THAT(Names(description->prologue), ElementsAre("z", "d"));
  EXPECT_THAT(Names(description->epilogue), ElementsAre("r"));
}

TEST(FusionDescriptionTest, OfALoopSaysWhichResultsMayLieWhereOperandsLie) {
  const auto module = Parse(R"(
fused {
  x = f32[7] parameter(0)
  y = f32[7] parameter(1)
  h = f16[7] parameter(2)
  r = f32[7] reverse(y), dimensions={0}
  c = f32[7] convert(h)
  a = f32[7] add(x, r)
  ROOT s = f32[7] add(a, c)
}
ENTRY e {
  x = f32[7] parameter(0)
  y = f32[7] parameter(1)
  h = f16[7] parameter(2)
  ROOT f = f32[7] fusion(x, y, h), kind=kLoop, calls=fused
})");
  const auto description = DescribeFusion(*module->entry()->root());
  ASSERT_TRUE(description.ok());
  EXPECT_EQ(description->hero, nullptr);
  // Not y, which is read elsewhere, nor h, whose elements are smaller.
  EXPECT_THAT(description->in_place, ElementsAre(InPlacePair{0, 0, false}));
  EXPECT_TRUE(description->MayLieAt(0, 0));
  EXPECT_FALSE(description->MayLieAt(1, 0));
}

TEST(FusionDescriptionTest, OfASingleInstructionIsThatInstruction) {
  const auto module = Parse(std::string(kReducers) +
                            "ENTRY e { x = f32[7,5] parameter(0)  z = f32[] constant(0)  ROOT r = f32[7] reduce(x, z), "
                            "dimensions={1}, to_apply=add }");
  const auto description = DescribeFusion(*module->entry()->root());
  ASSERT_TRUE(description.ok());
  EXPECT_EQ(description->hero, module->entry()->root());
  EXPECT_THAT(description->computed, ElementsAre(module->entry()->root()));
  EXPECT_EQ(description->OperandOf(*module->entry()->parameter(0)), module->entry()->parameter(0));
}

// Rows of 16 columns, that a workgroup can hold; what RefusalOf asks about are rows of 7.
TEST(FusionDescriptionTest, ADotWhoseRowsAreReducedWhereTheyLieIsARowProgramsProduct) {
  for (const bool in_place : {true, false}) {
    const auto module =
        Parse(std::string(kReducers) +
              "fused { x = f32[16,16] parameter(0)  z = f32[] constant(0)\n"
              "d = f32[16,16] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
              "s = f32[16] reduce(d, z), dimensions={1}, to_apply=add  b = f32[16,16] broadcast(s), dimensions={0}\n" +
              (in_place ? "v = f32[16,16] negate(d)\n" : "v = f32[16,16] reverse(d), dimensions={0}\n") +
              "ROOT r = f32[16,16] add(v, b) }\n"
              "ENTRY e { x = f32[16,16] parameter(0)  ROOT f = f32[16,16] fusion(x), kind=kInput, calls=fused }");
    const auto description = DescribeFusion(*module->entry()->root());
    ASSERT_EQ(description.ok(), in_place);
    if (!in_place) continue;
    EXPECT_EQ(description->product->name(), "d");
    EXPECT_THAT(Names(description->heroes), ElementsAre("s"));
    EXPECT_EQ(description->rows->row_size, 16);
  }
}

std::string RefusalOf(const std::string& fused, const std::string& shape) {
  const auto module =
      Parse(std::string(kReducers) + "fused { x = f32[7,7] parameter(0)  z = f32[] constant(0)\n" + fused +
            " }\nENTRY e { x = f32[7,7] parameter(0)  ROOT f = " + shape + " fusion(x), kind=kOutput, calls=fused }");
  const auto description = DescribeFusion(*module->entry()->root());
  EXPECT_FALSE(description.ok());
  EXPECT_EQ(description.status().code(), StatusCode::kUnsupported);
  return description.status().message();
}

TEST(FusionDescriptionTest, RefusesHeroesThatNoKernelPutsTogether) {
  EXPECT_EQ(RefusalOf("d = f32[7,7] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                      "s = f32[7] reduce(d, z), dimensions={1}, to_apply=add\n"
                      "ROOT r = f32[7] reverse(s), dimensions={0}",
                      "f32[7]"),
            "f: no kernel is made around d and s");
  EXPECT_EQ(RefusalOf("d = f32[7,7] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                      "s = f32[7] reduce(d, z), dimensions={1}, to_apply=add\n"
                      "b = f32[7,7] broadcast(s), dimensions={0}  ROOT r = f32[7,7] add(d, b)",
                      "f32[7,7]"),
            "f: no kernel is made around d and s");
  EXPECT_EQ(RefusalOf("d = f32[7,7] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                      "s = f32[7,7] dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                      "ROOT r = f32[7,7] negate(s)",
                      "f32[7,7]"),
            "f: no kernel is made around d and s");
  EXPECT_EQ(RefusalOf("a = f32[7] reduce(x, z), dimensions={0}, to_apply=add\n"
                      "b = f32[7] reduce(x, z), dimensions={1}, to_apply=add\nROOT r = f32[7] add(a, b)",
                      "f32[7]"),
            "f: a and b reduce different rows");
}

const Instruction& Reduce(const Module& module) { return *module.entry()->root(); }
std::unique_ptr<Module> ReduceOf(const std::string& from, const std::string& to, const std::string& dimensions) {
  return Parse(std::string(kReducers) + "ENTRY e { x = f32[" + from +
               "] parameter(0)  z = f32[] constant(0)  ROOT r = f32[" + to + "] reduce(x, z), dimensions={" +
               dimensions + "}, to_apply=add }");
}

TEST(RowSpaceTest, ReshapedEqualSpacesMatchAndOthersDoNot) {
  const auto module = ReduceOf("6,10,33", "6,10", "2");
  const RowSpace space(Reduce(*module));
  EXPECT_EQ(space.rows, 60);
  EXPECT_EQ(space.row_size, 33);
  EXPECT_FALSE(space.rows_are_contiguous());
  EXPECT_TRUE(space.Matches(Reduce(*ReduceOf("60,33", "60", "1"))));
  EXPECT_TRUE(space.Matches(Reduce(*ReduceOf("4,15,3,11", "4,15", "2,3"))));
  EXPECT_TRUE(space.Matches(Reduce(*ReduceOf("60,1,33", "60,1", "2"))));
  EXPECT_FALSE(space.Matches(Reduce(*ReduceOf("33,60", "60", "0"))));      // the same rows, but of other elements
  EXPECT_FALSE(space.Matches(Reduce(*ReduceOf("6,33,10", "6,10", "1"))));  // other rows
  EXPECT_FALSE(space.Matches(Reduce(*ReduceOf("20,99", "20", "1"))));
  EXPECT_EQ(space.PlaceOf(Shape(ElementType::kF32, {60, 33})), RowSpace::Place::kElement);
  EXPECT_EQ(space.PlaceOf(Shape(ElementType::kF32, {3, 20})), RowSpace::Place::kRow);
  EXPECT_EQ(space.PlaceOf(Shape(ElementType::kF32, {33})), RowSpace::Place::kNone);
}

}  // namespace fusion_description_test
}  // namespace VXLA_NAMESPACE
