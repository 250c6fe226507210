// Short loops that are written out, and what follows from the constants that they read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/passes/simplify/integer_folding.h"
#include "core/passes/simplify/simplifiers.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {
namespace short_loops_test {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Module> Parsed(const std::string& text) {
  auto module = ParseHlo(text);
  VXLA_CHECK(module.ok(), module.status().message());
  const Status verified = Verify(**module);
  VXLA_CHECK(verified.ok(), verified.message());
  return *std::move(module);
}

std::string Optimized(const std::string& text, bool unroll = true) {
  TargetInfo target;
  target.unroll_loops = unroll;
  auto optimized = Optimize(*Parsed(text), target);
  VXLA_CHECK(optimized.ok(), optimized.status().message());
  const Status verified = Verify(**optimized);
  EXPECT_TRUE(verified.ok()) << verified.message();
  return PrintHlo(**optimized);
}

// x is shifted left by a number of a table, trip after trip; `more` stands in the body.
std::string Shifts(int trips, const std::string& more = "") {
  return R"(HloModule m
add { a = u32[] parameter(0)  b = u32[] parameter(1)  ROOT r = u32[] add(a, b) }
body {
  s = (s32[], u32[64], u32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u32[64] get-tuple-element(s), index=1
  t = u32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  first = u32[1] slice(t), slice={[1:2]}
  scalar = u32[] reshape(first)
  all = u32[64] broadcast(scalar), dimensions={}
  )" + more +
         R"(
  y = u32[64] shift-left(x, all)
  ROOT r = (s32[], u32[64], u32[4]) tuple(next, y, t)
}
condition {
  s = (s32[], u32[64], u32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant()" +
         std::to_string(trips) + R"()
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = u32[64] parameter(0)
  zero = s32[] constant(0)
  table = u32[4] constant({13, 5, 26, 6})
  s = (s32[], u32[64], u32[4]) tuple(zero, x, table)
  w = (s32[], u32[64], u32[4]) while(s), condition=condition, body=body
  ROOT y = u32[64] get-tuple-element(w), index=1
})";
}

TEST(ShortLoopsTest, AreWrittenOutWithWhatTheyReadFromTables) {
  const std::string text = Optimized(Shifts(5));
  EXPECT_THAT(text, Not(HasSubstr("while(")));
  EXPECT_THAT(text, Not(HasSubstr("slice(")));
  EXPECT_THAT(text, HasSubstr("u32[] constant(5)"));
}

TEST(ShortLoopsTest, StayLoopsWhereTheyAreLongOrMoreThanElementwise) {
  EXPECT_THAT(Optimized(Shifts(9)), HasSubstr("while("));
  EXPECT_THAT(Optimized(Shifts(0)), HasSubstr("while("));
  EXPECT_THAT(Optimized(Shifts(5), false), HasSubstr("while("));
  const std::string reduction =
      "z = u32[] constant(0)  sum = u32[] reduce(x, z), dimensions={0}, to_apply=add  "
      "sums = u32[64] broadcast(sum), dimensions={}";
  std::string text = Shifts(5, reduction);
  const std::string from = "shift-left(x, all)";
  text.replace(text.find(from), from.size(), "shift-left(x, sums)");
  EXPECT_THAT(Optimized(text), HasSubstr("while("));
}

// The constant that one instruction of constants comes to.
std::string Folded(const std::string& constants, const std::string& result) {
  auto module = Parsed("HloModule m\nENTRY e {\n" + constants + "\n  ROOT r = " + result + "\n}\n");
  FoldIntegers(*module);
  const Instruction& root = *module->entry()->root();
  return root.opcode() == Opcode::kConstant ? std::to_string(root.literal().GetInt(0)) : "";
}

TEST(IntegerFoldingTest, KeepsTheRulesOfTheType) {
  const std::string u8 = "a = u8[] constant(200)  b = u8[] constant(100)",
                    s8 = "a = s8[] constant(-128)  b = s8[] constant(-1)";
  EXPECT_EQ(Folded(u8, "u8[] add(a, b)"), "44");
  EXPECT_EQ(Folded(u8, "u8[] subtract(b, a)"), "156");
  EXPECT_EQ(Folded(u8, "u8[] multiply(a, b)"), "32");
  EXPECT_EQ(Folded(u8, "u8[] shift-left(a, b)"), "0");
  EXPECT_EQ(Folded(u8, "u8[] xor(a, b)"), "172");
  EXPECT_EQ(Folded(s8, "s8[] add(a, b)"), "127");
  EXPECT_EQ(Folded(s8, "s8[] shift-right-logical(a, b)"), "0");  // 255 places
  EXPECT_EQ(Folded("a = s8[] constant(-128)  b = s8[] constant(7)", "s8[] shift-right-logical(a, b)"), "1");
  EXPECT_EQ(Folded(s8, "u16[] convert(b)"), "65535");
  EXPECT_EQ(Folded(u8, "s8[] convert(a)"), "-56");
  EXPECT_EQ(Folded(u8, "pred[] convert(a)"), "1");
  EXPECT_EQ(Folded("a = u32[2,3] constant({{1,2,3},{4,5,6}})", "u32[1,1] slice(a), slice={[1:2],[2:3]}"), "6");
  EXPECT_EQ(Folded("a = u32[1] constant({7})", "u32[] reshape(a)"), "7");
  EXPECT_EQ(Folded("a = u32[] constant(7)", "u32[1] broadcast(a), dimensions={}"), "7");
}

TEST(IntegerFoldingTest, LeavesTheRest) {
  EXPECT_EQ(Folded("a = u32[] constant(7)", "u32[2] broadcast(a), dimensions={}"), "");
  EXPECT_EQ(Folded("a = u32[] constant(7)  b = u32[] constant(0)", "u32[] divide(a, b)"), "");
  EXPECT_EQ(Folded("a = pred[] constant(true)", "pred[] add(a, a)"), "");
  EXPECT_EQ(Folded("a = u32[] parameter(0)  b = u32[] constant(1)", "u32[] add(a, b)"), "");
}

TEST(CopyOrderTest, GoesWhereOnlyCopiesAreOrdered) {
  const std::string copies =
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  a = f32[4] copy(x)\n"
      "  b = f32[4] copy(x), control-predecessors={a}\n";
  auto module = Parsed(copies + "  ROOT r = (f32[4], f32[4]) tuple(a, b)\n}\n");
  EXPECT_TRUE(DropOrderOfCopies(*module));
  EXPECT_THAT(PrintHlo(*module), Not(HasSubstr("control-predecessors")));
  module =
      Parsed(copies + "  c = f32[4] negate(b), control-predecessors={a}\n  ROOT r = (f32[4], f32[4]) tuple(b, c)\n}\n");
  EXPECT_FALSE(DropOrderOfCopies(*module));
}

}  // namespace short_loops_test
}  // namespace VXLA_NAMESPACE
