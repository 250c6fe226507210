// Programs as deep as the limits allow, and longer than any stack: parsed, verified, printed, evaluated, destroyed.
#include <fmt/format.h>

#include "core/limits.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing::nesting {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using enum ElementType;

// `levels` computations, each of which gives one more than what it calls.
std::string Nested(int levels, std::string_view call) {
  std::string text = "HloModule m\nc0 { ROOT x = f32[2] parameter(0) }\n";
  for (int level = 1; level < levels; ++level) {
    text += fmt::format("c{} {{ x = f32[2] parameter(0)\n p = pred[] constant(true)\n y = f32[2] ", level);
    text += fmt::format(fmt::runtime(call), level - 1);
    text += "\n i = f32[] constant(1)\n b = f32[2] broadcast(i), dimensions={}\n ROOT r = f32[2] add(y, b) }\n";
  }
  return text + fmt::format("ENTRY e {{ x = f32[2] parameter(0)\n p = pred[] constant(true)\n ROOT r = f32[2] {} }}\n",
                            fmt::format(fmt::runtime(call), levels - 1));
}

constexpr std::string_view kCalls[] = {"call(x), to_apply=c{0}", "fusion(x), kind=kLoop, calls=c{0}",
                                       "conditional(p, x, x), true_computation=c{0}, false_computation=c{0}"};

TEST(NestingTest, CallsNestToTheLimit) {
  for (const std::string_view call : kCalls) {
    const Literal r = RunText(Nested(kMaxCallDepth, call), {Array(kF32, {2}, {1, 2})});
    EXPECT_THAT(Doubles(r), ElementsAre(kMaxCallDepth, kMaxCallDepth + 1)) << call;
  }
}

TEST(NestingTest, CallsBeyondTheLimitAreRefusedWhereTheyStand) {
  for (const std::string_view call : kCalls) {
    const auto module = ParseHlo(Nested(20000, call));
    ASSERT_FALSE(module.ok());
    EXPECT_EQ(module.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(module.status().message(), EndsWith("y: computations call one another more than 500 levels deep"));
    EXPECT_EQ(module.status().location().line, 2 + 6 * kMaxCallDepth + 3);
  }
}

TEST(NestingTest, ChainsOfInstructionsNeedNoStack) {
  constexpr int kLength = 100000;
  std::string text = "HloModule m\nENTRY e {\nv0 = f32[] parameter(0)\n";
  for (int i = 1; i <= kLength; ++i) text += fmt::format("v{} = f32[] negate(v{})\n", i, i - 1);
  const auto module = ParseHlo(text + "}\n");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_TRUE(Verify(**module).ok());
  EXPECT_GT(PrintHlo(**module).size(), text.size());
  EXPECT_EQ((*module)->Clone()->entry()->instructions().size(), size_t{kLength} + 1);
  const Literal two = Literal::Scalar(kF32, 2);
  const Literal* arguments[] = {&two};
  EXPECT_EQ(Evaluate(**module, arguments)->GetDouble(0), 2);
}

// Each level calls the one before twice: few lines, 2^40 instructions.
TEST(NestingTest, ScalarComputationsThatDoubleAreRefused) {
  std::string text = "HloModule m\nc0 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }\n";
  for (int level = 1; level < 40; ++level) {
    text += fmt::format(
        "c{0} {{ x = f32[] parameter(0)\n y = f32[] parameter(1)\n a = f32[] call(x, y), to_apply=c{1}\n"
        " ROOT r = f32[] call(a, y), to_apply=c{1} }}\n",
        level, level - 1);
  }
  const Result<Literal> r = TryRun(text +
                                       "ENTRY e { a = f32[3] parameter(0)  z = f32[] constant(0)\n"
                                       "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=c39 }\n",
                                   {Array(kF32, {3}, {1, 2, 3})});
  EXPECT_EQ(r.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(r.status().message().substr(0, 46), "a computation of scalars that calls c0 has mor");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::nesting
