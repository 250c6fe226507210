#include "tools/commands/flop_count.h"

#include <gtest/gtest.h>

#include "api/program.h"
#include "api/verify/seeded_arguments.h"

namespace VXLA_NAMESPACE {
namespace flop_count_test {

double CountOf(const std::string& text) {
  auto module = ParseProgram(text);
  VXLA_CHECK(module.ok(), module.status().message());
  auto arguments = SeededArguments(**module, 0);
  VXLA_CHECK(arguments.ok(), arguments.status().message());
  std::vector<const Literal*> pointers;
  for (const Literal& argument : *arguments) pointers.push_back(&argument);
  const auto counted = RunAndCount(**module, pointers, {});
  VXLA_CHECK(counted.ok(), counted.status().message());
  EXPECT_GT(counted->ms, 0);
  return counted->flop;
}

constexpr char kSum[] = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

TEST(FlopCountTest, ElementwiseOperationsCountTheirElements) {
  EXPECT_EQ(CountOf("ENTRY e { a = f32[3,5] parameter(0)  t = f32[3,5] tanh(a)  ROOT r = f32[3,5] add(t, a) }"), 30);
  EXPECT_EQ(CountOf("ENTRY e { a = f32[] parameter(0)  ROOT r = f32[] negate(a) }"), 1);
  EXPECT_EQ(CountOf("ENTRY e { a = f32[0,4] parameter(0)  ROOT r = f32[0,4] negate(a) }"), 0);
}

TEST(FlopCountTest, MovesCountNothing) {
  EXPECT_EQ(CountOf("ENTRY e { a = f32[3,5] parameter(0)  ROOT t = f32[5,3] transpose(a), dimensions={1,0} }"), 0);
}

TEST(FlopCountTest, ProductsCountTwoPerTerm) {
  EXPECT_EQ(CountOf("ENTRY e { a = f32[7,2,3] parameter(0)  b = f32[7,3,5] parameter(1)\n"
                    "ROOT d = f32[7,2,5] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                    "rhs_contracting_dims={1} }"),
            2 * 7 * 2 * 5 * 3);
  EXPECT_EQ(CountOf("ENTRY e { x = f32[1,8,2] parameter(0)  k = f32[3,2,4] parameter(1)\n"
                    "ROOT c = f32[1,6,4] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f }"),
            2 * 6 * 4 * 3 * 2);
}

TEST(FlopCountTest, ReductionsCountTheirReducer) {
  EXPECT_EQ(CountOf(std::string(kSum) + "ENTRY e { x = f32[11,13] parameter(0)  z = f32[] constant(0)\n"
                                        "ROOT r = f32[11] reduce(x, z), dimensions={1}, to_apply=sum }"),
            11 * 13);
  EXPECT_EQ(CountOf("sq { a = f32[] parameter(0)  b = f32[] parameter(1)  m = f32[] multiply(b, b)\n"
                    "ROOT r = f32[] add(a, m) }\n"
                    "ENTRY e { x = f32[11,13] parameter(0)  z = f32[] constant(0)\n"
                    "ROOT r = f32[11] reduce(x, z), dimensions={1}, to_apply=sq }"),
            2 * 11 * 13);
}

TEST(FlopCountTest, LoopsCountAsOftenAsTheyGoRound) {
  EXPECT_EQ(CountOf("less { s = (s32[], f32[9]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
                    "n = s32[] constant(6)  ROOT p = pred[] compare(i, n), direction=LT }\n"
                    "body { s = (s32[], f32[9]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
                    "x = f32[9] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)\n"
                    "y = f32[9] add(x, x)  ROOT t = (s32[], f32[9]) tuple(j, y) }\n"
                    "ENTRY e { i = s32[] constant(0)  x = f32[9] parameter(0)  s = (s32[], f32[9]) tuple(i, x)\n"
                    "ROOT w = (s32[], f32[9]) while(s), condition=less, body=body }"),
            6 * (9 + 1) + 7);
}

}  // namespace flop_count_test
}  // namespace VXLA_NAMESPACE
