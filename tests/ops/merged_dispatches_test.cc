// Loops of many sizes as one dispatch: an optimizer's step.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/lower/lower.h"
#include "core/passes/base/pipeline.h"
#include "scheduler/compile.h"
#include "scheduler/memory/result_copies.h"
#include "tests/codegen/codegen_test_support.h"
#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace merged_dispatches_test {

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

// How many dispatches the program is where a device has so many storage buffers and binds them as arrays.
int DispatchesWith(const std::string& text, uint32_t storage_buffers) {
  const auto module = ParseModule(text);
  DeviceFacts facts = vulkan::FullFacts();
  vulkan::PretendGpu(facts);
  facts.buffer_arrays = true;
  facts.max_storage_buffers = storage_buffers;
  const auto optimized = Optimize(*module, TargetOf(facts, BindingMode::kDescriptors, true));
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  PlanOptions options;
  options.bindings = BindingMode::kDescriptors;
  const auto lowering = vulkan::MakeLowering(facts, options.bindings);
  CopySharedResults(**optimized, *lowering);
  const auto plan = MakePlan(**optimized, *lowering, facts, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return -1;
  for (const Step& step : plan->steps) EXPECT_LT(step.bindings.size(), storage_buffers) << step.name;
  return plan->dispatch_count();
}

// So many dispatches at most under addresses and where there is a descriptor for every buffer. Devices here have less.
void ExpectMerged(const std::string& text, int dispatches) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  const auto client = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, {}, dispatches, *expected);
  EXPECT_LE(DispatchesWith(text, 1 << 20), dispatches);
  const auto bound = GpuClient(BindingMode::kDescriptors);
  ASSERT_NE(bound, nullptr);
  EXPECT_TRUE(bound->device().facts().buffer_arrays);
  ExpectOnGpu(*bound, *module, arguments, {}, dispatches + static_cast<int>(arguments.size()) / 3, *expected);
}

TEST(MergedDispatchesTest, AnOptimizersStepOverManyParametersIsAFewDispatches) { ExpectMerged(Momentum(10, false), 4); }

// Three buffers of each of 160 parameters, and two more of each where the results are not written over arguments.
TEST(MergedDispatchesTest, AStepIsAsManyDispatchesAsADevicesDescriptorsTake) {
  const std::string text = Momentum(10, false);
  EXPECT_LE(DispatchesWith(text, 32), 29);
  EXPECT_LE(DispatchesWith(text, 256), 7);
  std::string aliases;
  for (int n = 0; n < 160; ++n) {
    aliases += fmt::format("{}{{{}}}: ({}, {{}}, must-alias), {{{}}}: ({}, {{}}, must-alias)", n == 0 ? "" : ", ",
                           2 * n, 3 * n + 2, 2 * n + 1, 3 * n);
  }
  EXPECT_LE(DispatchesWith(fmt::format("HloModule m, input_output_alias={{ {} }}\n{}", aliases, text), 32), 19);
}

TEST(MergedDispatchesTest, WhatWaitsForThemIsMergedBehindABarrier) { ExpectMerged(Momentum(2, true), 12); }

// Large arrays, whose loops go by four elements, some of whole workgroups and some not.
TEST(MergedDispatchesTest, LargeArraysOfAnySizeAreOneDispatch) {
  std::string text = "ENTRY e {\nb = f32[] constant(0.5)\n", results, shapes;
  int n = 0;
  for (const char* shape : {"1024,1024", "50257,16", "800,1024", "1000,1004"}) {
    text += fmt::format(
        "p{0} = f32[{1}] parameter({0})  b{0} = f32[{1}] broadcast(b), dimensions={{}}  q{0} = f32[{1}] multiply(p{0}, "
        "b{0})\n",
        n, shape);
    results += fmt::format("{}q{}", n == 0 ? "" : ", ", n);
    shapes += fmt::format("{}f32[{}]", n == 0 ? "" : ", ", shape);
    ++n;
  }
  ExpectMerged(text + fmt::format("ROOT t = ({}) tuple({}) }}\n", shapes, results), 1);
}

TEST(MergedDispatchesTest, TheStepAndThePowersOfItAreOneLoop) {
  ExpectMerged(
      "ENTRY e { t = s32[] parameter(0)  i = s32[] constant(1)  n = s32[] add(t, i)  c = f32[] convert(n)\n"
      "d = f32[] convert(n)  a = f32[] constant(0.9)  b = f32[] constant(0.999)  p = f32[] power(a, c)\n"
      "q = f32[] power(b, d)  ROOT r = (s32[], f32[], f32[]) tuple(n, p, q) }",
      1);
}

// q waits for a reduction, which waits for n: what would be one loop with n stays behind.
TEST(MergedDispatchesTest, AScalarThatWaitsForMoreStaysBehind) {
  ExpectMerged(
      "most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
      "ENTRY e { t = f32[] parameter(0)  x = f32[5000] parameter(1)  i = f32[] constant(1)  z = f32[] constant(0)\n"
      "n = f32[] sine(t)  nb = f32[5000] broadcast(n), dimensions={}  y = f32[5000] multiply(x, nb)\n"
      "s = f32[] reduce(y, z), dimensions={0}, to_apply=most  e = f32[] exponential(s)  q = f32[] multiply(n, e)\n"
      "k = f32[] cosine(q)  ROOT r = (f32[], f32[], f32[]) tuple(n, q, k) }",
      2);
}

// Sums of squares of arrays of any size, short and long, then their sum one by one, its root, and what is scaled by it.
TEST(MergedDispatchesTest, TheNormOfManyGradientsIsAFewDispatches) {
  std::string text =
                  "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\nENTRY e {\n"
                  "z = f32[] constant(0)\n",
              results, types, total = "z";
  const std::vector<std::string> shapes = {"64,192", "192",    "64,64", "64",       "256,64", "3,3,8,16", "16",     "",
                                           "7",      "100,64", "1000",  "1024,512", "33,4",   "300,1000", "50257,2"};
  int n = 0;
  for (int copy = 0; copy < 3; ++copy) {
    for (const std::string& shape : shapes) {
      std::string dimensions;
      for (int64_t d = 0; !shape.empty() && d <= std::ranges::count(shape, ','); ++d)
        dimensions += fmt::format("{}{}", d == 0 ? "" : ",", d);
      text += fmt::format("g{0} = f32[{1}] parameter({0})  q{0} = f32[{1}] multiply(g{0}, g{0})\n", n, shape);
      text += shape.empty()
                  ? fmt::format("r{0} = f32[] copy(q{0})\n", n)
                  : fmt::format("r{0} = f32[] reduce(q{0}, z), dimensions={{{1}}}, to_apply=sum\n", n, dimensions);
      text += fmt::format("t{0} = f32[] add({1}, r{0})\n", n, total);
      total = fmt::format("t{}", n++);
    }
  }
  text += fmt::format("s = f32[] rsqrt({})\n", total);
  for (int k = 0; k < n; ++k) {
    const std::string& shape = shapes[static_cast<size_t>(k) % shapes.size()];
    text +=
        fmt::format("b{0} = f32[{1}] broadcast(s), dimensions={{}}  o{0} = f32[{1}] multiply(g{0}, b{0})\n", k, shape);
    results += fmt::format("{}o{}", k == 0 ? "" : ", ", k);
    types += fmt::format("{}f32[{}]", k == 0 ? "" : ", ", shape);
  }
  ExpectMerged(text + fmt::format("ROOT t = ({}) tuple({}) }}\n", types, results), 10);
}

}  // namespace merged_dispatches_test
}  // namespace VXLA_NAMESPACE::testing
