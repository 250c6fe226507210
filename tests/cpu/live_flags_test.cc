// Dynamic dimensions that HLO text leaves for inference to find, and custom calls that name operations on them.
#include <gtest/gtest.h>

#include "core/passes/expand/repairs.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr const char* kTotal = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n";

// The program with its dimensions stated dynamic.
std::string Flagged(const std::string& text) {
  const auto module = ParseHlo(text);
  if (!module.ok()) return module.status().message();
  EXPECT_TRUE(AddLiveFlags(**module)) << text;
  return PrintHlo(**module);
}

Result<Literal> Replaced(const std::string& text, const std::vector<Literal>& arguments) {
  const auto module = ParseHlo(text);
  if (!module.ok()) return module.status();
  EXPECT_TRUE(ReplaceNamedCalls(**module)) << text;
  return TryRun(PrintHlo(**module), arguments);
}

Literal Counted(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 1; i <= n; ++i) values.push_back(static_cast<double>(i));
  return Array(ElementType::kF32, {n}, values);
}

TEST(LiveFlagsTest, FollowFromAConstantSizeBelowTheBound) {
  const Literal sum = RunText(Flagged(Entry(R"(
  x = f32[7] parameter(0)
  four = s32[] constant(4)
  d = f32[7] set-dimension-size(x, four), dimensions={0}
  twice = f32[7] add(d, d)
  three = f32[3] constant({100, 200, 300})
  both = f32[10] concatenate(twice, three), dimensions={0}
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(both, zero), dimensions={0}, to_apply=add)",
                                            kTotal)),
                              {Counted(7)});
  EXPECT_EQ(Doubles(sum), std::vector<double>{620});
}

TEST(LiveFlagsTest, TheBoundItselfStaysStatic) {
  const auto module =
      ParseHlo(Entry("x = f32[7] parameter(0)\n n = s32[] constant(7)\n"
                     " ROOT d = f32[7] set-dimension-size(x, n), dimensions={0}"));
  ASSERT_TRUE(module.ok());
  EXPECT_FALSE(AddLiveFlags(**module));
}

// Of f32[4,<=3,2] with two live columns, reshaped: sums over `dimensions`.
std::vector<double> SumsOf(const std::string& reshape, const std::string& result, const std::string& dimensions) {
  return Doubles(RunText(Flagged(Entry("x = f32[24] parameter(0)\n y = f32[4,3,2] reshape(x)\n"
                                       " n = s32[] constant(2)\n"
                                       " d = f32[4,3,2] set-dimension-size(y, n), dimensions={1}\n z = " +
                                           reshape + "\n zero = f32[] constant(0)\n ROOT r = " + result +
                                           " reduce(z, zero), dimensions=" + dimensions + ", to_apply=add",
                                       kTotal)),
                         {Counted(24)}));
}

TEST(LiveFlagsTest, OfAReshapeGoToTheOnlyDimensionThatCanHaveThem) {
  EXPECT_EQ(SumsOf("f32[4,6] reshape(d)", "f32[4]", "{1}"), (std::vector<double>{10, 34, 58, 82}));
  EXPECT_EQ(SumsOf("f32[2,2,6,1] reshape(d), inferred_dimension=2", "f32[2,2]", "{2,3}"),
            (std::vector<double>{10, 34, 58, 82}));
  EXPECT_EQ(SumsOf("f32[1,4,3,2] reshape(d)", "f32[1,4]", "{2,3}"), (std::vector<double>{10, 34, 58, 82}));
  EXPECT_EQ(SumsOf("f32[24] reshape(d)", "f32[]", "{0}"), std::vector<double>{184});
}

TEST(LiveFlagsTest, ReachWhatLoopsCarry) {
  const Literal sum = RunText(Flagged(Entry(R"(
  x = f32[5] parameter(0)
  two = s32[] constant(2)
  d = f32[5] set-dimension-size(x, two), dimensions={0}
  i = s32[] constant(0)
  s = (s32[], f32[5]) tuple(i, d)
  w = (s32[], f32[5]) while(s), condition=more, body=body
  y = f32[5] get-tuple-element(w), index=1
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(y, zero), dimensions={0}, to_apply=add)",
                                            std::string(kTotal) + R"(
more { s = (s32[], f32[<=5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[<=5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[<=5] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[5] add(x, x)
  ROOT r = (s32[], f32[5]) tuple(j, y) }
)")),
                              {Counted(5)});
  EXPECT_EQ(Doubles(sum), std::vector<double>{24});
}

TEST(NamedCallsTest, PadToStaticGivesTheSizesToo) {
  const auto parts = Replaced(Entry(R"(
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=4] set-dimension-size(x, n), dimensions={0}
  p = (f32[4], s32[]) custom-call(d), custom_call_target="PadToStatic"
  size = s32[] get-tuple-element(p), index=1
  all = f32[4] get-tuple-element(p), index=0
  ROOT r = (s32[], f32[4]) tuple(size, all))"),
                              {Counted(4), Ints(ElementType::kS32, {}, {3})});
  ASSERT_TRUE(parts.ok()) << parts.status().message();
  EXPECT_EQ(Integers(parts->tuple_elements()[0]), std::vector<int64_t>{3});
  const std::vector<double> all = Doubles(parts->tuple_elements()[1]);
  EXPECT_EQ(std::vector<double>(all.begin(), all.begin() + 3), (std::vector<double>{1, 2, 3}));
}

TEST(NamedCallsTest, SliceToDynamicTakesASizeForEachDimension) {
  const auto sum = Replaced(Entry(R"(
  x = f32[6] parameter(0)
  y = f32[2,3] reshape(x)
  rows = s32[] constant(2)
  n = s32[] parameter(1)
  d = f32[2,<=3] custom-call(y, rows, n), custom_call_target="SliceToDynamic"
  zero = f32[] constant(0)
  ROOT r = f32[2] reduce(d, zero), dimensions={1}, to_apply=add)",
                                  kTotal),
                            {Counted(6), Ints(ElementType::kS32, {}, {2})});
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(Doubles(*sum), (std::vector<double>{3, 9}));
}

TEST(NamedCallsTest, ConvolutionsWithoutPadding) {
  const auto value = Replaced(Entry(R"(
  x = f32[5] parameter(0)
  y = f32[1,5,1] reshape(x)
  k = f32[2,1,1] constant({{{1}}, {{10}}})
  ROOT r = f32[1,4,1] custom-call(y, k), custom_call_target="DynamicConvolutionForward", window={size=2},
      dim_labels=b0f_0io->b0f, padding_type=PADDING_VALID)"),
                              {Counted(5)});
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(Doubles(*value), (std::vector<double>{21, 32, 43, 54}));
}

// Such calls stay for who registers them.
TEST(NamedCallsTest, OtherFormsStay) {
  for (const char* const call : {R"(ROOT r = f32[4] custom-call(x), custom_call_target="PadToStatic")",
                                 R"(ROOT r = f32[4] custom-call(x), custom_call_target="SliceToDynamic")",
                                 R"(ROOT r = (f32[4], s64[]) custom-call(x), custom_call_target="PadToStatic")",
                                 R"(ROOT r = f32[4] custom-call(x), custom_call_target="DynamicConvolutionForward")"}) {
    const auto module = ParseHlo(Entry("x = f32[4] parameter(0)\n " + std::string(call)));
    ASSERT_TRUE(module.ok()) << call;
    EXPECT_FALSE(ReplaceNamedCalls(**module)) << call;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
