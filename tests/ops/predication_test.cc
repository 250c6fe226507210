// Loops and branches that the device decides about, in arrays that no workgroup would take alone.
#include <gmock/gmock.h>

#include <bit>

#include "backend/device.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace predication_test {

using ::testing::HasSubstr;
using ::testing::Not;

Literal Scalar(int64_t value) { return Literal::ScalarInt(ElementType::kS32, value); }

struct DeviceRun {
  std::string plan;
  RunStatistics statistics;
};

// Agreement with the reference, bit by bit, under both ways to bind; then one run's plan and statistics.
DeviceRun Check(const std::string& text, const std::vector<Literal>& arguments, bool host_steps = false) {
  RunOptions options;
  options.tolerance = Tolerance{};
  options.allow_fallbacks = host_steps;
  const auto expected = RunBoth(text, arguments, options);
  VXLA_CHECK(expected.has_value(), "no reference");
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  DeviceRun run;
  CompileOptions compile;
  compile.loop_kernels = false;  // on software drivers a workgroup takes such loops by itself
  for (const BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*ParseModule(text), compile);
    VXLA_CHECK(executable.ok(), executable.status().message());
    const auto result = (*executable)->Run(pointers, &run.statistics);
    VXLA_CHECK(result.ok(), result.status().message());
    ExpectAgreement(*result, *expected, options, "decided on the device");
    run.plan = ToText((*executable)->plan());
  }
  return run;
}

// Halves an array until its sum, that of integers, is small; `extra` is added to the body, which hands on y and z.
std::string Halving(const std::string& computations = "", const std::string& body = "", const std::string& y = "h",
                    const std::string& z = "z") {
  return "HloModule halving\n" + computations + R"(
sum { p = s32[] parameter(0)  q = s32[] parameter(1)  ROOT r = s32[] add(p, q) }
body {
  s = (s32[70001], s32[], s32[70001]) parameter(0)
  x = s32[70001] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  z = s32[70001] get-tuple-element(s), index=2
  one = s32[] constant(1)
  two = s32[] constant(2)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  b = s32[70001] broadcast(two), dimensions={}
  h = s32[70001] divide(x, b)
)" + body +
         "  ROOT r = (s32[70001], s32[], s32[70001]) tuple(" + y + ", next, " + z + R"()
}
condition {
  s = (s32[70001], s32[], s32[70001]) parameter(0)
  x = s32[70001] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  total = s32[] reduce(x, zero), dimensions={0}, to_apply=sum
  limit = s32[] constant(9)
  ROOT c = pred[] compare(total, limit), direction=GT
}
ENTRY main {
  x = s32[70001] parameter(0)
  z = s32[70001] parameter(1)
  i = s32[] constant(0)
  s = (s32[70001], s32[], s32[70001]) tuple(x, i, z)
  ROOT loop = (s32[70001], s32[], s32[70001]) while(s), condition=condition, body=body
})";
}

Literal Row(int64_t first, int64_t step) {
  std::vector<int32_t> values(70001);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(first + step * static_cast<int64_t>(i % 7));
  return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {70001}), std::span<const int32_t>(values));
}

TEST(PredicationTest, ALoopEndsByItself) {
  for (int64_t first : {1, 3, 900, 0, -5}) {  // the last two: no iteration at all
    const DeviceRun run = Check(Halving(), {Row(first, 0), Row(2, 1)});
    int64_t iterations = 0;
    for (int64_t left = first; left > 0; left /= 2) ++iterations;
    EXPECT_EQ(run.statistics.read_backs, std::bit_width(static_cast<uint64_t>(iterations + 1))) << first;
    EXPECT_THAT(run.plan, HasSubstr("while loop (the device reads its condition)"));
  }
}

// Branches with copies, of a pred and of an index out of range, and one in the other; a counted loop in a branch.
constexpr char kDecidedBranches[] = R"(
step { s = (s32[], s32[70001]) parameter(0)  k = s32[] get-tuple-element(s), index=0
  v = s32[70001] get-tuple-element(s), index=1  one = s32[] constant(1)  n = s32[] add(k, one)
  m = s32[70001] negate(v)  f = s32[70001] reverse(m), dimensions={0}
  ROOT r = (s32[], s32[70001]) tuple(n, f) }
below { s = (s32[], s32[70001]) parameter(0)  k = s32[] get-tuple-element(s), index=0  three = s32[] constant(3)
  ROOT c = pred[] compare(k, three), direction=LT }
turned { v = s32[70001] parameter(0)  k = s32[] constant(0)  s = (s32[], s32[70001]) tuple(k, v)
  w = (s32[], s32[70001]) while(s), condition=below, body=step  ROOT r = s32[70001] get-tuple-element(w), index=1 }
same { ROOT v = s32[70001] parameter(0) }
raised { v = s32[70001] parameter(0)  one = s32[] constant(1)  b = s32[70001] broadcast(one), dimensions={}
  ROOT r = s32[70001] add(v, b) }
inner { s = (s32[70001], s32[]) parameter(0)  v = s32[70001] get-tuple-element(s), index=0
  k = s32[] get-tuple-element(s), index=1
  ROOT r = s32[70001] conditional(k, v, v, v), branch_computations={turned, same, raised} }
outer_same { s = (s32[70001], s32[]) parameter(0)  ROOT v = s32[70001] get-tuple-element(s), index=0 }
)";
constexpr char kDecidedNest[] = R"(
  four = s32[] constant(4)
  rest = s32[] remainder(i, four)
  odd = s32[] remainder(i, two)
  is_odd = pred[] compare(odd, zero), direction=NE
  back = s32[] subtract(rest, one)
  t = (s32[70001], s32[]) tuple(z, back)
  c = s32[70001] conditional(is_odd, t, t), true_computation=outer_same, false_computation=inner
)";

TEST(PredicationTest, BranchesInALoopNeedNoWait) {
  const DeviceRun run = Check(Halving(kDecidedBranches, kDecidedNest, "h", "c"), {Row(800, 1), Row(2, 1)});
  EXPECT_EQ(run.statistics.read_backs, 4);
  EXPECT_THAT(run.plan, Not(HasSubstr("the host reads")));
}

TEST(PredicationTest, BranchesOfAProgramNeedNoWait) {
  const std::string text = std::string("HloModule m\n") + kDecidedBranches +
                           "ENTRY main { z = s32[70001] parameter(0)  k = s32[] parameter(1)  p = pred[] parameter(2)\n"
                           "t = (s32[70001], s32[]) tuple(z, k)\n"
                           "c = s32[70001] conditional(p, t, t), true_computation=outer_same, "
                           "false_computation=inner\nROOT r = s32[70001] negate(c) }";
  for (int k : {0, 1, 2, 7, -1}) {
    for (int p : {0, 1}) {
      if (p == 1 && k > 0) continue;
      const DeviceRun run = Check(text, {Row(5, 3), Scalar(k), Literal::ScalarInt(ElementType::kPred, p)});
      EXPECT_EQ(run.statistics.read_backs, 0);
    }
  }
}

// 1 and 2 and 4 and ... and 256 iterations, then 256 at a time.
TEST(PredicationTest, AThousandIterationsTakeTwentyWaitsAtMost) {
  std::string text = Halving("", "  d = s32[70001] subtract(x, b)\n", "d");
  text.replace(text.find("constant(2)"), 11, "constant(1)");
  for (size_t at = text.find("70001"); at != std::string::npos; at = text.find("70001")) text.replace(at, 5, "5003");
  const std::vector<Literal> arguments{
      Literal::FromVector<int32_t>(Shape(ElementType::kS32, {5003}), std::vector<int32_t>(5003, 1000)),
      RandomLiteral(Shape(ElementType::kS32, {5003}), 1)};
  const DeviceRun run = Check(text, arguments);
  EXPECT_LE(run.statistics.read_backs, 20);
}

constexpr char kShrinks[] = R"(
add { p = s32[] parameter(0)  q = s32[] parameter(1)  ROOT r = s32[] add(p, q) }
shrink { v = s32[70001] parameter(0)  three = s32[] constant(3)  b = s32[70001] broadcast(three), dimensions={}
  ROOT r = s32[70001] divide(v, b) }
large { v = s32[70001] parameter(0)  zero = s32[] constant(0)
  n = s32[] reduce(v, zero), dimensions={0}, to_apply=add  ROOT c = pred[] compare(n, zero), direction=GT }
)";

TEST(PredicationTest, ALoopInALoopEndsByItself) {
  const DeviceRun run = Check(Halving(kShrinks,
                                      "  g = s32[70001] add(z, h)\n  w = s32[70001] while(g), condition=large, "
                                      "body=shrink\n  k = s32[70001] add(w, h)\n",
                                      "h", "k"),
                              {Row(30, 0), Row(2, 1)});
  EXPECT_THAT(run.plan, HasSubstr("(the device reads its condition)"));
  EXPECT_THAT(run.plan, Not(HasSubstr("the host reads")));
  EXPECT_LE(run.statistics.read_backs, 6);
}

// One in a branch, one behind it, and in a counted loop around both another counted one, which is too long to be
// written out.
TEST(PredicationTest, LoopsOfAllKindsInOneAnotherAreOneNest) {
  const std::string functions = std::string(kShrinks) + R"(
shrunk { v = s32[70001] parameter(0)  ROOT w = s32[70001] while(v), condition=large, body=shrink }
raised { v = s32[70001] parameter(0)  five = s32[] constant(5)  b = s32[70001] broadcast(five), dimensions={}
  ROOT r = s32[70001] add(v, b) }
turning { s = (s32[], s32[70001]) parameter(0)  k = s32[] get-tuple-element(s), index=0  n = s32[] constant(150)
  ROOT c = pred[] compare(k, n), direction=LT }
turn { s = (s32[], s32[70001]) parameter(0)  k = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  n = s32[] add(k, one)  v = s32[70001] get-tuple-element(s), index=1  w = s32[70001] reverse(v), dimensions={0}
  b = s32[70001] broadcast(k), dimensions={}  x = s32[70001] xor(w, b)
  ROOT r = (s32[], s32[70001]) tuple(n, x) }
more { s = (s32[], s32[70001]) parameter(0)  k = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT c = pred[] compare(k, n), direction=LT }
step { s = (s32[], s32[70001]) parameter(0)  k = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  n = s32[] add(k, one)  v = s32[70001] get-tuple-element(s), index=1  bit = s32[] and(k, one)
  c = s32[70001] conditional(bit, v, v), branch_computations={shrunk, raised}
  w = s32[70001] while(c), condition=large, body=shrink
  zero = s32[] constant(0)  t = (s32[], s32[70001]) tuple(zero, w)
  u = (s32[], s32[70001]) while(t), condition=turning, body=turn
  x = s32[70001] get-tuple-element(u), index=1  ROOT r = (s32[], s32[70001]) tuple(n, x) }
)";
  const DeviceRun run = Check(Halving(functions,
                                      "  t = (s32[], s32[70001]) tuple(zero, z)\n  w = (s32[], s32[70001]) while(t), "
                                      "condition=more, body=step\n  k = s32[70001] get-tuple-element(w), index=1\n",
                                      "h", "k"),
                              {Row(5, 0), Row(2, 1)});
  EXPECT_THAT(run.plan, Not(HasSubstr("the host reads")));
  EXPECT_LE(run.statistics.read_backs, 20);
}

// A body that every iteration of a counted loop runs is recorded several times over.
TEST(PredicationTest, CountedLoopsAreSubmittedInBatches) {
  for (int64_t count : {1, 16, 39}) {
    std::string text = Halving("", "  g = s32[70001] add(z, h)\n", "h", "g");
    const size_t at = text.find("  zero = s32[] constant(0)\n  total"), end = text.find("  ROOT c = pred[]");
    text.replace(at, end - at,
                 fmt::format("  i = s32[] get-tuple-element(s), index=1\n  n = s32[] constant({})\n", count));
    text.replace(text.find("compare(total, limit), direction=GT"), 35, "compare(i, n), direction=LT");
    EXPECT_EQ(Check(text, {Row(1 << 30, 5), Row(2, 1)}).statistics.read_backs, 0);
  }
}

}  // namespace predication_test
}  // namespace VXLA_NAMESPACE::testing
