// scan on the device against the CPU reference.
#include <fmt/format.h>

#include <algorithm>

#include "core/passes/expand/expanders.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace device_scan_test {

using enum ElementType;

void Check(const std::string& text) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions exact;
  exact.tolerance = Tolerance{};
  RunBoth(text, RandomArguments(*module, 3), exact);
}

std::string Sums(const std::string& type, int count, const std::string& more) {
  return fmt::format(
      "f {{ x = {0}[] parameter(0)  c = {0}[] parameter(1)  s = {0}[] add(c, x)  d = {0}[] subtract(x, c)\n"
      "ROOT r = ({0}[], {0}[]) tuple(d, s) }}\n"
      "ENTRY e {{ p = {0}[{1}] parameter(0)  z = {0}[] parameter(1)\n"
      "ROOT r = ({0}[{1}], {0}[]) scan(p, z), dimensions={{0}}, num_carries=1{2}, to_apply=f }}",
      type, count, more);
}

TEST(DeviceScanTest, ForwardsAndBackwardsInEveryClassOfTypes) {
  for (const std::string type : {"f32", "s32", "u8", "bf16", "f64", "c64", "s64"}) Check(Sums(type, 7, ""));
  Check(Sums("f32", 7, ", is_reverse=true"));
  Check(Sums("f32", 1, ""));
  Check(Sums("f32", 0, ""));
}

// Carries that are joined with an input by one associative operation need no loop.
TEST(DeviceScanTest, RunningSumsAndMaximaAreNoLoops) {
  const auto program = [](const std::string& type, const std::string& operation, const std::string& outputs,
                          const std::string& more) {
    return fmt::format(
        "f {{ x = {0}[3] parameter(0)  c = {0}[3] parameter(1)  s = {0}[3] {1}(x, c)\n"
        "ROOT r = ({0}[3], {0}[3], {0}[3], {0}[3]) tuple({2}, s) }}\n"
        "ENTRY e {{ p = {0}[3,20] parameter(0)  z = {0}[3] parameter(1)\n"
        "ROOT r = ({0}[3,20], {0}[3,20], {0}[3,20], {0}[3]) scan(p, z), dimensions={{1}}, num_carries=1{3}, "
        "to_apply=f }}",
        type, operation, outputs, more);
  };
  const auto expect = [&](const std::string& text, bool loop, bool exact) {
    SCOPED_TRACE(text);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    RunOptions options;
    if (exact) options.tolerance = Tolerance{};
    RunBoth(text, RandomArguments(*module, 3), options);
    auto expanded = module->Clone();
    ExpandScans(*expanded);
    EXPECT_EQ(std::ranges::any_of(expanded->entry()->instructions(),
                                  [](const auto& i) { return i->opcode() == Opcode::kWhile; }),
              loop);
  };
  expect(program("s32", "add", "s, c, x", ", is_reverse=true"), false, true);
  expect(program("u8", "multiply", "c, s, s", ""), false, true);
  expect(program("f32", "maximum", "s, c, x", ""), false, true);
  expect(program("f32", "add", "s, c, x", ", is_associative=true"), false, false);
  expect(program("f32", "add", "s, c, x", ""), true, true);
  expect(program("s32", "subtract", "s, c, x", ""), true, true);
}

// Inputs and outputs of other ranks beside it: each is cut along the same dimension number.
TEST(DeviceScanTest, SlicesAlongTheMiddleOfSeveralArrays) {
  Check(
      "f { x = s32[2,3] parameter(0)  w = s32[2] parameter(1)  c = s32[2,3] parameter(2)  n = s32[] parameter(3)\n"
      "ws = s32[2,3] broadcast(w), dimensions={0}  y = s32[2,3] multiply(x, ws)  d = s32[2,3] add(c, y)\n"
      "one = s32[] constant(1)  m = s32[] add(n, one)  ROOT r = (s32[2,3], s32[2,3], s32[]) tuple(d, d, m) }\n"
      "ENTRY e { x = s32[2,4,3] parameter(0)  w = s32[2,4] parameter(1)  z = s32[] constant(0)\n"
      "c = s32[2,3] broadcast(z), dimensions={}\n"
      "ROOT r = (s32[2,4,3], s32[2,3], s32[]) scan(x, w, c, z), dimensions={1}, num_carries=2, to_apply=f }");
}

TEST(DeviceScanTest, InsideALoopsBodyAndACall) {
  Check(
      "f { x = s32[] parameter(0)  c = s32[] parameter(1)  s = s32[] add(c, x)  ROOT r = (s32[], s32[]) tuple(s, s) }\n"
      "g { p = s32[5] parameter(0)  z = s32[] constant(0)  t = (s32[5], s32[]) scan(p, z), dimensions={0}, "
      "num_carries=1, to_apply=f  ROOT r = s32[5] get-tuple-element(t), index=0 }\n"
      "body { s = (s32[], s32[5]) parameter(0)  i = s32[] get-tuple-element(s), index=0  a = s32[5] "
      "get-tuple-element(s), index=1\n"
      "b = s32[5] call(a), to_apply=g  one = s32[] constant(1)  j = s32[] add(i, one)\n"
      "ROOT t = (s32[], s32[5]) tuple(j, b) }\n"
      "more { s = (s32[], s32[5]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)\n"
      "ROOT l = pred[] compare(i, n), direction=LT }\n"
      "ENTRY e { p = s32[5] parameter(0)  z = s32[] constant(0)  s = (s32[], s32[5]) tuple(z, p)\n"
      "ROOT w = (s32[], s32[5]) while(s), condition=more, body=body }");
}

}  // namespace device_scan_test
}  // namespace VXLA_NAMESPACE::testing
