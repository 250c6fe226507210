// Which windows are running ones or become such, and what of reducers is proved to leave elements alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/maps/running_window.h"
#include "core/numerics/reducer_identity.h"
#include "core/passes/base/verifier.h"
#include "core/passes/scans/scans.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

std::string Program(const std::string& type, const std::string& operation, const std::string& init,
                    const std::string& sizes, const std::string& result, const std::string& window) {
  return fmt::format(
      "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {1}(a, b) }}\n"
      "ENTRY e {{ x = {0}[{3}] parameter(0)  p = {0}[] parameter(1)  z = {0}[] constant({2})\n"
      "ROOT r = {0}[{4}] reduce-window(x, z), window={{{5}}}, to_apply=f }}",
      type, operation, init, sizes, result, window);
}

// How many taps the longest window has afterwards that is not a running one; -1: the program is wrong before or after.
int64_t LongestWindow(const std::string& text, bool wide = false) {
  Result<std::unique_ptr<Module>> module = ParseHlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  if (!module.ok() || !Verify(**module).ok()) return -1;
  SplitSlidingWindows(**module, wide);
  EXPECT_TRUE(Verify(**module).ok()) << Verify(**module).message();
  int64_t longest = 0;
  for (const auto& i : (*module)->entry()->instructions()) {
    if (i->opcode() != Opcode::kReduceWindow || RunningWindowOf(*i)) continue;
    for (const WindowDimension& w : i->attributes<WindowAttributes>().window) longest = std::max(longest, w.size);
  }
  return longest;
}

TEST(RunningWindowsTest, AreKnownByTheirPaddingAndTheirIdentity) {
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "3,64", "3,64", "size=1x64 pad=0_0x63_0")), 0);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "8192", "8192", "size=8192 pad=0_8191"), true), 0);
  EXPECT_EQ(LongestWindow(Program("s32", "add", "0", "100", "100", "size=200 pad=199_0")), 0);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "15", "15", "size=15 pad=14_0")), 15);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0.5", "100", "100", "size=100 pad=99_0")), 100);
  EXPECT_EQ(LongestWindow(Program("f32", "subtract", "0", "100", "100", "size=100 pad=99_0")), 100);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "100,0", "100,0", "size=100x1 pad=99_0x0_0")), 100);
}

TEST(RunningWindowsTest, SlidingOnesBecomeRunningOnesOfBlocks) {
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "100", "100", "size=80 pad=79_0")), 0);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "100", "100", "size=100 pad=98_1")), 0);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "100", "50", "size=100 stride=2 pad=99_0")), 0);
  EXPECT_EQ(LongestWindow(Program("bf16", "maximum", "-inf", "90,100", "51,51", "size=40x50")), 0);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "100,3", "100,2", "size=100x2 pad=99_0x0_0")), 2);
}

TEST(RunningWindowsTest, OthersStayAsTheyAre) {
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "63", "33", "size=31")), 31);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "64", "2", "size=32 stride=32")), 32);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0.5", "100", "51", "size=50")), 50);
  EXPECT_EQ(LongestWindow(Program("f32", "add", "0", "100", "51", "size=50"), true), 50);
}

TEST(RunningWindowsTest, InitialValuesThatAreNoConstantsStopAllButMinimaAndTheLike) {
  const auto of_parameter = [](const char* operation) {
    std::string text = Program("f32", operation, "0", "100", "100", "size=100 pad=99_0");
    return text.replace(text.find("(x, z)"), 6, "(x, p)");
  };
  EXPECT_EQ(LongestWindow(of_parameter("add")), 100);
  EXPECT_EQ(LongestWindow(of_parameter("minimum")), 0);
}

bool IsIdentity(const std::string& type, const std::string& body, const std::string& init) {
  const std::string t = type;
  auto module = ParseHlo(
      fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  {1} }}\nENTRY e {{ x = {0}[9] parameter(0)"
                  "  z = {0}[] constant({2})  ROOT r = {0}[] reduce(x, z), dimensions={{0}}, to_apply=f }}",
                  type, body, init));
  EXPECT_TRUE(module.ok()) << module.status().message();
  if (!module.ok()) return false;
  const Instruction* reduce = (*module)->entry()->root();
  const Literal* literal = &reduce->operand(1)->literal();
  return IsIdentityOf(*reduce->called(0), {&literal, 1});
}

TEST(ReducerIdentityTest, OfSingleOperations) {
  const auto single = [](const std::string& type, const std::string& operation, const std::string& init) {
    return IsIdentity(type, fmt::format("ROOT r = {}[] {}(b, a)", type, operation), init);
  };
  EXPECT_TRUE(single("f32", "add", "0"));
  EXPECT_TRUE(single("f16", "add", "-0"));
  EXPECT_TRUE(single("c64", "add", "(0,0)"));
  EXPECT_TRUE(single("c64", "multiply", "(1,0)"));
  EXPECT_TRUE(single("f64", "multiply", "1"));
  EXPECT_TRUE(single("bf16", "maximum", "-inf"));
  EXPECT_TRUE(single("s8", "maximum", "-128"));
  EXPECT_TRUE(single("u64", "minimum", "18446744073709551615"));
  EXPECT_TRUE(single("pred", "and", "true"));
  EXPECT_TRUE(single("s16", "and", "-1"));
  EXPECT_TRUE(single("u16", "xor", "0"));
  EXPECT_FALSE(single("f32", "add", "1"));
  EXPECT_FALSE(single("f32", "add", "nan"));
  EXPECT_FALSE(single("f32", "add", "inf"));
  EXPECT_FALSE(single("c64", "multiply", "(1,1)"));
  EXPECT_FALSE(single("f32", "maximum", "-3e38"));
  EXPECT_FALSE(single("s32", "maximum", "-128"));
  EXPECT_FALSE(single("f32", "multiply", "0"));
  EXPECT_FALSE(single("f32", "subtract", "0"));
  EXPECT_FALSE(single("f32", "power", "1"));
}

TEST(ReducerIdentityTest, OfSeveralOperations) {
  const std::string log_sum =
      "m = f32[] maximum(a, b)  d = f32[] subtract(a, b)  n = pred[] compare(d, d), direction=NE  s = f32[] add(a, b)\n"
      "v = f32[] abs(d)  g = f32[] negate(v)  e = f32[] exponential(g)  l = f32[] log-plus-one(e)  t = f32[] add(m, "
      "l)\n";
  EXPECT_TRUE(IsIdentity("f32", log_sum + "ROOT r = f32[] select(n, s, t)", "-inf"));
  EXPECT_FALSE(IsIdentity("f32", log_sum + "ROOT r = f32[] select(n, s, t)", "0"));
  EXPECT_FALSE(IsIdentity("f32", log_sum + "ROOT r = f32[] add(m, l)", "-inf"));  // infinities meet as NaN
  // The other side of a NaN wins, so that the initial value does.
  EXPECT_FALSE(IsIdentity("f32", "c = pred[] compare(a, b), direction=GT  ROOT r = f32[] select(c, a, b)", "-inf"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
