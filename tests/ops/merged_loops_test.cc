// Loops of many sizes as one dispatch: an optimizer's step.
#include <fmt/format.h>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace merged_loops_test {

const std::vector<std::string> kShapes = {"64,192", "192", "64,64", "64",  "256,64", "256", "3,3,8,16", "16",
                                          "",       "7",   "1",     "5,5", "100,64", "0",   "1000",     "33,4"};

// m = 0.9 m + g, p = p - 0.01 m, and then p + m, which waits for both: for `copies` of each shape.
std::string Momentum(int copies, bool second_level) {
  std::string text = "ENTRY e {\nb = f32[] constant(0.9)  r = f32[] constant(0.01)\n", results, shapes;
  int n = 0;
  for (int copy = 0; copy < copies; ++copy) {
    for (const std::string& shape : kShapes) {
      text += fmt::format(
          "p{0} = f32[{1}] parameter({2})  g{0} = f32[{1}] parameter({3})  m{0} = f32[{1}] parameter({4})\n"
          "b{0} = f32[{1}] broadcast(b), dimensions={{}}  r{0} = f32[{1}] broadcast(r), dimensions={{}}\n"
          "d{0} = f32[{1}] multiply(m{0}, b{0})  n{0} = f32[{1}] add(d{0}, g{0})  s{0} = f32[{1}] multiply(n{0}, "
          "r{0})\n"
          "q{0} = f32[{1}] subtract(p{0}, s{0})\n",
          n, shape, 3 * n, 3 * n + 1, 3 * n + 2);
      std::string last = fmt::format("q{}", n);
      if (second_level && !shape.empty()) {
        text += fmt::format(
            "c{0} = f32[{1}] cosine(q{0})  k{0} = f32[{1}] reverse(c{0}), dimensions={{0}}\n"
            "j{0} = f32[{1}] sine(k{0})\n",
            n, shape);
        last = fmt::format("j{}", n);
      }
      results += fmt::format("{}n{}, {}", n == 0 ? "" : ", ", n, last);
      shapes += fmt::format("{0}f32[{1}], f32[{1}]", n == 0 ? "" : ", ", shape);
      ++n;
    }
  }
  return text + fmt::format("ROOT t = ({}) tuple({}) }}\n", shapes, results);
}

void ExpectMerged(const std::string& text, int dispatches) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  const auto client = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, {}, dispatches, *expected);
}

TEST(MergedLoopsTest, AnOptimizersStepOverManyParametersIsAFewDispatches) { ExpectMerged(Momentum(10, false), 4); }

TEST(MergedLoopsTest, WhatWaitsForThemIsMergedBehindABarrier) { ExpectMerged(Momentum(2, true), 12); }

}  // namespace merged_loops_test
}  // namespace VXLA_NAMESPACE::testing
