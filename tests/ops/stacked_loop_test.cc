// Scans that stack their results, as jax.lax.scan makes them: a loop's kernel stores an element where the stack has it
// in the same phase that computes it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace stacked_loop_test {

using ::testing::HasSubstr;

// One of the stacks: the value of the body that goes there, its type, and the index that it goes to.
struct Stack {
  std::string value, type = "f32", at = "i";
  std::optional<std::vector<int>> dimensions = {};  // of the value, the carry's by default
};

// `trips` trips over a carry `h` of elements [rows,columns], with slices `x` of as many rows of an array; `body` makes
// the next carry "h2" of them.
struct Scan {
  std::string body;
  std::vector<Stack> stacks = {{"h2"}};
  int rows = 3, columns = 5, trips = 4;
  std::string type = "f32", functions = {};

  std::string Of(const std::string& element, const std::string& before = "") const {
    return fmt::format("{}[{}{},{}]", element, before, rows, columns);
  }
  std::string All(const std::string& element) const { return Of(element, fmt::format("{},", trips)); }
  // A trip's part of a stack, or all of it.
  std::string Of(const Stack& stack, int steps) const {
    const std::vector<int> dimensions = stack.dimensions.value_or(std::vector{rows, columns});
    return fmt::format("{}[{}{}{}]", stack.type, steps, dimensions.empty() ? "" : ",", fmt::join(dimensions, ","));
  }
  size_t RankOf(const Stack& stack) const { return stack.dimensions ? stack.dimensions->size() : 2; }
  std::string State() const {
    std::string state = fmt::format("(s32[], {}, {}, f32[{},{}]", Of(type), All(type), columns, columns);
    for (const Stack& stack : stacks) state += ", " + Of(stack, trips);
    return state + ")";
  }
  std::string Text() const {
    std::string text =
        fmt::format(R"(HloModule scan
{0}
body {{
  s = {1} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = {2} get-tuple-element(s), index=1
  xs = {3} get-tuple-element(s), index=2
  w = f32[{4},{4}] get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  last = s32[] constant({5})
  back = s32[] subtract(last, i)
  part = {6} dynamic-slice(xs, i, zero, zero), dynamic_slice_sizes={{1,{7},{4}}}
  x = {2} reshape(part)
{8})",
                    functions, State(), Of(type), All(type), columns, trips - 1, Of(type, "1,"), rows, body);
    std::string results, operands, parameters;
    for (size_t k = 0; k < stacks.size(); ++k) {
      const Stack& stack = stacks[k];
      std::string zeros;
      for (size_t d = 0; d < RankOf(stack); ++d) zeros += ", zero";
      text += fmt::format(
          "  ys{0} = {1} get-tuple-element(s), index={2}\n  row{0} = {3} reshape({4})\n"
          "  next{0} = {1} dynamic-update-slice(ys{0}, row{0}, {5}{6})\n",
          k, Of(stack, trips), k + 4, Of(stack, 1), stack.value, stack.at, zeros);
      results += fmt::format(", next{}", k);
      operands += fmt::format(", ys{}", k);
      parameters += fmt::format("  ys{} = {} parameter({})\n", k, Of(stack, trips), k + 3);
    }
    return text + fmt::format(R"(  ROOT r = {0} tuple(next, h2, xs, w{1})
}}
condition {{
  s = {0} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({2})
  ROOT c = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  h = {3} parameter(0)
  xs = {4} parameter(1)
  w = f32[{5},{5}] parameter(2)
{6}  i = s32[] constant(0)
  start = {0} tuple(i, h, xs, w{7})
  ROOT loop = {0} while(start), condition=condition, body=body
}}
)",
                              State(), results, trips, Of(type), All(type), columns, parameters, operands);
  }
};

// Whether a loop is one kernel whatever its work. Of a device of many units one workgroup has too little for the larger
// loops here, whose trips are dispatches there.
bool LoopsAreKernels() {
  Client* client = DeviceClient(BindingMode::kDescriptors);
  return client == nullptr || client->device().facts().compute_units < 32;
}

// The kernel's text on what is taken for a GPU.
// Of a GPU of one unit, so that no loop is shared out.
std::string KernelOf(const std::string& text) {
  const auto client = GpuClientOfUnits(BindingMode::kDescriptors, 1);
  const auto module = ParseModule(text);
  if (client == nullptr || module == nullptr) return "";
  auto executable = client->Compile(*module, {});
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  if (!executable.ok()) return "";
  EXPECT_EQ((*executable)->plan().kernels.size(), 1u);
  return (*executable)->plan().kernels[0].generated;
}

int CountOf(const std::string& text, const std::string& words) {
  int count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}
int BarriersIn(const std::string& kernel) { return CountOf(kernel, " PHASE\n"); }

// Small whole numbers, whose sums and products are exact in any order.
std::vector<Literal> WholeArguments(const Module& module) {
  std::vector<Literal> arguments = RandomArguments(module, 5);
  for (Literal& argument : arguments) {
    if (argument.shape().element_type() != ElementType::kF32) continue;
    for (float& value : argument.mutable_data<float>()) value = std::clamp(std::round(2 * value), -3.0f, 3.0f);
  }
  return arguments;
}

// On the device and on what is taken for a GPU; in one dispatch where loops are kernels.
void Check(const std::string& text) {
  SCOPED_TRACE(text);
  RunOptions options;
  options.dispatches = LoopsAreKernels() ? 1 : -1;
  options.tolerance = Tolerance{};
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = WholeArguments(*module);
  const auto expected = RunBoth(text, arguments, options);
  ASSERT_TRUE(expected.has_value());
  const auto client = GpuClient(BindingMode::kAddresses);
  if (client != nullptr) ExpectOnGpu(*client, *module, arguments, options, LoopsAreKernels() ? 1 : 1000, *expected);
}
void Check(const Scan& scan) { Check(scan.Text()); }

std::string Sum(const Scan& scan, const std::string& of = "h") {
  return fmt::format(R"(  least = f32[] constant(-7)
  most = f32[] constant(7)
  leasts = {0} broadcast(least), dimensions={{}}
  mosts = {0} broadcast(most), dimensions={{}}
  sum = {0} add({1}, x)
  h2 = {0} clamp(leasts, sum, mosts)
)",
                     scan.Of("f32"), of);
}
std::string Product(const Scan& scan) {
  return fmt::format("  p = {} dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n", scan.Of("f32")) +
         Sum(scan, "p");
}

constexpr std::pair<int, int> kSizes[] = {{3, 5}, {1, 64}, {8, 32}, {7, 97}, {40, 64}, {16, 129}};

TEST(StackedLoopTest, TheCarryElementByElement) {
  for (const auto& [rows, columns] : kSizes) {
    Scan scan;
    scan.rows = rows;
    scan.columns = columns;
    scan.body = Sum(scan);
    Check(scan);
  }
}

TEST(StackedLoopTest, TheCarryBehindAProduct) {
  for (const auto& [rows, columns] : kSizes) {
    Scan scan;
    scan.rows = rows;
    scan.columns = columns;
    scan.body = Product(scan);
    Check(scan);
  }
}

// A kernel that computed it elsewhere would wait once more, and would read it again.
TEST(StackedLoopTest, AnElementIsStoredTwiceAndNotLoadedAgain) {
  Scan scan;
  scan.rows = 40;
  scan.columns = 64;
  scan.body = Product(scan);
  Scan bare = scan;
  bare.stacks = {};
  const std::string kernel = KernelOf(scan.Text()), without = KernelOf(bare.Text());
  EXPECT_GT(BarriersIn(without), 0);
  EXPECT_EQ(BarriersIn(kernel), BarriersIn(without)) << kernel;
  EXPECT_EQ(CountOf(kernel, "LOAD("), CountOf(without, "LOAD(")) << kernel;
  EXPECT_EQ(CountOf(kernel, "for ("), CountOf(without, "for (")) << kernel;
  EXPECT_EQ(CountOf(kernel, "STORE("), CountOf(without, "STORE(") + 1) << kernel;
}

// The carry of a lane stays in a register, though it is stacked, and what a lane stacks no other one does.
TEST(StackedLoopTest, ASmallCarryStaysInRegistersAndNoLaneWaits) {
  Scan scan;
  scan.body = Sum(scan);
  Scan bare = scan;
  bare.stacks = {};
  const std::string kernel = KernelOf(scan.Text()), without = KernelOf(bare.Text());
  EXPECT_EQ(CountOf(kernel, "LOAD("), CountOf(without, "LOAD(")) << kernel;
  EXPECT_THAT(kernel, HasSubstr("e0 = "));
  EXPECT_EQ(BarriersIn(kernel), 0) << kernel;
}

// The residuals of a gradient: what a trip begins with is stacked before it is overwritten, by lanes that have it.
TEST(StackedLoopTest, WhatATripBeginsWithIsStackedFirst) {
  for (const auto& [rows, columns] : kSizes) {
    Scan scan;
    scan.rows = rows;
    scan.columns = columns;
    scan.body = Sum(scan);
    scan.stacks = {{"h", "f32", "back"}, {"x"}, {"h2"}, {"sum"}};
    Check(scan);
    if (LoopsAreKernels()) {
      EXPECT_EQ(BarriersIn(KernelOf(scan.Text())), 0);
      EXPECT_EQ(CountOf(KernelOf(scan.Text()), "STORE("), 6) << KernelOf(scan.Text());
    }
    scan.body = Product(scan);
    Check(scan);
  }
}

TEST(StackedLoopTest, SeveralStacksOfNarrowerTypes) {
  for (const auto& [rows, columns] : kSizes) {
    for (const bool product : {false, true}) {
      Scan scan;
      scan.rows = rows;
      scan.columns = columns;
      scan.body = (product ? Product(scan) : Sum(scan)) + fmt::format(R"(  half = {0} convert(h2)
  c13 = f32[] constant(13)
  c13s = {1} broadcast(c13), dimensions={{}}
  larger = {1} multiply(h2, c13s)
  byte = {2} convert(larger)
  none = f32[] constant(0)
  nones = {1} broadcast(none), dimensions={{}}
  above = {3} compare(h2, nones), direction=GT
  both = {4} complex(h2, x)
)",
                                                                      scan.Of("bf16"), scan.Of("f32"), scan.Of("s8"),
                                                                      scan.Of("pred"), scan.Of("c64"));
      scan.stacks = {{"h2"}, {"half", "bf16", "back"}, {"byte", "s8"}, {"above", "pred", "back"}, {"both", "c64"}};
      Check(scan);
      Scan bare = scan;
      bare.stacks = {};
      if (!product || !LoopsAreKernels()) continue;
      EXPECT_EQ(BarriersIn(KernelOf(scan.Text())), BarriersIn(KernelOf(bare.Text())));
    }
  }
}

TEST(StackedLoopTest, CarriesOfEveryWidth) {
  for (const std::string type : {"bf16", "f16", "s8", "pred", "c64", "u16", "s64", "f64"}) {
    for (const auto& [rows, columns] : {std::pair(3, 5), std::pair(16, 32), std::pair(9, 131)}) {
      Scan scan;
      scan.rows = rows;
      scan.columns = columns;
      scan.type = type;
      scan.body = fmt::format("  h2 = {} {}(h, x)\n", scan.Of(type), type == "pred" ? "xor" : "add");
      scan.stacks = {{"h2", type}, {"h2", type, "back"}};
      Check(scan);
    }
  }
}

// Elements of rows, what rows are reduced to, and what everything is.
TEST(StackedLoopTest, RowsAndWhatIsMadeOfThem) {
  for (const auto& [rows, columns] : kSizes) {
    Scan scan;
    scan.rows = rows;
    scan.columns = columns;
    scan.functions =
        "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
        "larger { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }\n";
    scan.body = fmt::format(R"(  least = f32[] constant(-inf)
  none = f32[] constant(0)
  most = f32[{1}] reduce(h, least), dimensions={{1}}, to_apply=larger
  mosts = {0} broadcast(most), dimensions={{0}}
  below = {0} subtract(x, mosts)
  h2 = {0} maximum(below, h)
  total = f32[] reduce(h2, none), dimensions={{0,1}}, to_apply=sum
  half = bf16[{1}] convert(most)
  twice = f32[] add(total, total)
)",
                            scan.Of("f32"), rows);
    scan.stacks = {{"h2"},
                   {"below", "f32", "back"},
                   {"most", "f32", "i", std::vector{rows}},
                   {"half", "bf16", "back", std::vector{rows}},
                   {"total", "f32", "i", std::vector<int>{}},
                   {"twice", "f32", "back", std::vector<int>{}}};
    Check(scan);
  }
}

// Parts whose rows are others than the carry's.
TEST(StackedLoopTest, PartsOfOtherDimensions) {
  for (const auto& [rows, columns, others] :
       {std::tuple(6, 35, std::vector{7, 30}), std::tuple(12, 105, std::vector{21, 60}),
        std::tuple(16, 32, std::vector{4, 4, 32}), std::tuple(32, 48, std::vector{1536})}) {
    for (const int kind : {0, 1, 2}) {
      Scan scan;
      scan.rows = rows;
      scan.columns = columns;
      scan.trips = 2;
      scan.body = kind == 0 ? Sum(scan)
                  : kind == 1
                      ? Product(scan)
                      : fmt::format("  h2 = {} dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
                                    scan.Of("f32"));
      scan.stacks = {{"h2", "f32", "i", others}, {"h2", "f32", "back"}};
      Check(scan);
    }
  }
}

// What the update reads elsewhere has to be there first: neighbours of the carry, rows of it, another stack.
TEST(StackedLoopTest, WhatOthersMakeIsWaitedFor) {
  for (const auto& [rows, columns] : {std::pair(3, 5), std::pair(8, 32), std::pair(40, 24)}) {
    for (const bool product : {false, true}) {
      Scan scan;
      scan.rows = rows;
      scan.columns = columns;
      const std::string make = product ? Product(scan) : Sum(scan);
      const std::string type = scan.Of("f32");
      scan.body = make + fmt::format("  y = {} reverse(h2), dimensions={{1}}\n", type);
      scan.stacks = {{"y"}};
      Check(scan);
      scan.body =
          make + fmt::format("  turned = {0} reverse(h2), dimensions={{0}}\n  y = {0} subtract(h2, turned)\n", type);
      Check(scan);
      // The step before.
      scan.stacks = {{"h"}, {"h2"}};
      scan.body = make;
      Check(scan);
      // The sum of all steps, from the stack itself.
      scan.body = make + fmt::format(R"(  back_one = s32[] subtract(i, one)
  so_far = {0} get-tuple-element(s), index=4
  before = {1} dynamic-slice(so_far, back_one, zero, zero), dynamic_slice_sizes={{1,{2},{3}}}
  earlier = {4} reshape(before)
  y = {4} add(earlier, h2)
)",
                                     scan.All("f32"), scan.Of("f32", "1,"), rows, columns, type);
      scan.stacks = {{"y"}};
      Check(scan);
    }
  }
}

// The second one may be of the same elements, by other lanes.
TEST(StackedLoopTest, TwoUpdatesOfOneStack) {
  for (const auto& [rows, columns] : kSizes) {
    Scan scan;
    scan.rows = rows;
    scan.columns = columns;
    scan.body = Sum(scan) + fmt::format(R"(  first = {0} get-tuple-element(s), index=4
  own = {1} reshape(h2)
  once = {0} dynamic-update-slice(first, own, back, zero, zero)
)",
                                        scan.All("f32"), scan.Of("f32", "1,"));
    std::string text = scan.Text();
    text.replace(text.find("dynamic-update-slice(ys0"), 24, "dynamic-update-slice(once");
    Check(text);
  }
}

// A scan whose stack is the rows of one matrix, a row further on in each trip.
std::string OverlappingWindows(const Scan& scan) {
  std::string text = scan.Text();
  const std::string whole = fmt::format("f32[{},{}]", scan.trips * scan.rows, scan.columns);
  const size_t begin = text.find("  row0 = "), end = text.find("  ROOT r = ");
  return text.replace(begin, end - begin,
                      fmt::format("  flat = {0} reshape(ys0)\n  put = {0} dynamic-update-slice(flat, h2, i, zero)\n"
                                  "  next0 = {1} reshape(put)\n",
                                  whole, scan.All("f32")));
}

// The last one to write an element may be another lane than the one before.
TEST(StackedLoopTest, WindowsThatOverlapAreWrittenInOrder) {
  for (const auto& [rows, columns] : kSizes) {
    if (rows == 1) continue;
    Scan scan;
    scan.rows = rows;
    scan.columns = columns;
    scan.trips = 6;
    scan.body = Sum(scan);
    Check(OverlappingWindows(scan));
    if (LoopsAreKernels()) {
      EXPECT_GT(BarriersIn(KernelOf(OverlappingWindows(scan))), 0);
    }
  }
}

}  // namespace stacked_loop_test
}  // namespace VXLA_NAMESPACE::testing
