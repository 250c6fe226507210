// Whiles that one workgroup runs whole: one dispatch, whatever decides their end.
#include <gmock/gmock.h>

#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace loop_kernel_test {

using ::testing::HasSubstr;
using ::testing::Not;

// A while over a state, and everything that the program returns of it. `arguments`: the operands of the state.
struct Loop {
  std::string state, condition, body, entry, functions = {};
  std::string Text() const {
    return "HloModule loop\n" + functions + "body {\n  s = " + state + " parameter(0)\n" + body +
           "}\ncondition {\n  s = " + state + " parameter(0)\n" + condition + "}\nENTRY main {\n" + entry +
           "  ROOT loop = " + state + " while(start), condition=condition, body=body\n}\n";
  }
};

constexpr char kCounts[] =
    "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(@)\n"
    "  ROOT c = pred[] compare(i, n), direction=LT\n";
std::string Counts(int trips) {
  std::string text = kCounts;
  return text.replace(text.find('@'), 1, std::to_string(trips));
}
constexpr char kNext[] =
    "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n  next = s32[] add(i, one)\n";

RunOptions Exactly(int dispatches) {
  RunOptions options;
  options.tolerance = Tolerance{};
  options.dispatches = dispatches;
  return options;
}

std::optional<Literal> CheckLoop(const Loop& loop, const RunOptions& options, uint64_t seed = 0) {
  const std::string text = loop.Text();
  const auto module = ParseModule(text);
  if (module == nullptr) return std::nullopt;
  return RunBoth(text, RandomArguments(*module, seed), options);
}

std::shared_ptr<Executable> Compiled(const Loop& loop, const CompileOptions& options = {}) {
  const auto module = ParseModule(loop.Text());
  auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module, options);
  VXLA_CHECK(executable.ok(), executable.status().message());
  return *executable;
}

Loop Recurrence(int trips, int elements) {
  const std::string array = fmt::format("f32[{}]", elements);
  Loop loop;
  loop.state = fmt::format("(s32[], {0}, {0})", array);
  loop.condition = Counts(trips);
  loop.body = kNext + fmt::format(R"(  x = {0} get-tuple-element(s), index=1
  w = {0} get-tuple-element(s), index=2
  f = f32[] convert(i)
  b = {0} broadcast(f), dimensions={{}}
  m = {0} multiply(x, w)
  y = {0} add(m, b)
  ROOT r = (s32[], {0}, {0}) tuple(next, y, w)
)",
                                  array);
  loop.entry = fmt::format(
      "  x = {0} parameter(0)\n  w = {0} parameter(1)\n  i = s32[] constant(0)\n  start = {1} tuple(i, x, w)\n", array,
      loop.state);
  return loop;
}

// A driver may stop after 65,535 iterations of an invocation, without a word: sums in runs iterate more often than they
// have elements.
TEST(LoopKernelTest, LongSumsStayBelowADriversLimitOfIterations) {
  for (const int trips : {28, 30, 32, 33, 34}) {
    SCOPED_TRACE(trips);
    Loop loop;
    loop.state = "(s32[], c64[2,33], c64[2,200,33], c64[2,200])";
    loop.condition = Counts(trips);
    loop.body = std::string(kNext) + R"(  x = c64[2,33] get-tuple-element(s), index=1
  w = c64[2,200,33] get-tuple-element(s), index=2
  v = c64[2,200] get-tuple-element(s), index=3
  t = c64[2,33] dot(v, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  f = c64[] convert(i)
  b = c64[2,33] broadcast(f), dimensions={}
  m = c64[2,33] multiply(t, b)
  y = c64[2,33] add(x, m)
  d = c64[2,200] negate(v)
  ROOT r = (s32[], c64[2,33], c64[2,200,33], c64[2,200]) tuple(next, y, w, d)
)";
    loop.entry =
        "  x = c64[2,33] parameter(0)\n  w = c64[2,200,33] parameter(1)\n  v = c64[2,200] parameter(2)\n"
        "  i = s32[] constant(0)\n  start = " +
        loop.state + " tuple(i, x, w, v)\n";
    RunOptions options;
    options.tolerance = Tolerance{.rtol = 1e-4, .atol = 1e-2};
    CheckLoop(loop, options);
  }
}

TEST(LoopKernelTest, ACountedLoopIsOneDispatch) {
  for (const int elements : {1, 5, 256, 1009, 5000}) {
    SCOPED_TRACE(elements);
    CheckLoop(Recurrence(9, elements), Exactly(1));
  }
  const auto executable = Compiled(Recurrence(1000, 256));
  EXPECT_THAT(ToText(executable->plan()), Not(HasSubstr("while loop")));
  EXPECT_EQ(executable->plan().dispatch_count(), 1);
}

TEST(LoopKernelTest, WithoutLoopKernelsTheHostCounts) {
  CompileOptions options;
  options.loop_kernels = false;
  EXPECT_THAT(ToText(Compiled(Recurrence(7, 16), options)->plan()), HasSubstr("while loop (7 iterations)"));
  options.loop_kernels = true;
  options.max_loop_iterations = 100;  // is the host's to keep
  EXPECT_THAT(ToText(Compiled(Recurrence(7, 16), options)->plan()), HasSubstr("while loop (7 iterations)"));
}

// Halves an array until the sum of its squares is below a limit.
Loop Halving(const std::string& limit) {
  Loop loop;
  loop.functions = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n";
  loop.state = "(s32[], f32[101])";
  loop.condition = R"(  x = f32[101] get-tuple-element(s), index=1
  squares = f32[101] multiply(x, x)
  zero = f32[] constant(0)
  sum = f32[] reduce(squares, zero), dimensions={0}, to_apply=add
  limit = f32[] constant()" +
                   limit + R"()
  ROOT c = pred[] compare(sum, limit), direction=GT
)";
  loop.body = std::string(kNext) + R"(  x = f32[101] get-tuple-element(s), index=1
  half = f32[] constant(0.5)
  halves = f32[101] broadcast(half), dimensions={}
  y = f32[101] multiply(x, halves)
  back = f32[101] reverse(y), dimensions={0}
  ROOT r = (s32[], f32[101]) tuple(next, back)
)";
  loop.entry = "  x = f32[101] parameter(0)\n  i = s32[] constant(0)\n  start = (s32[], f32[101]) tuple(i, x)\n";
  return loop;
}

TEST(LoopKernelTest, TheDeviceDecidesTheEndAndTheHostReadsOnce) {
  const auto value = CheckLoop(Halving("0.001"), Exactly(1));
  ASSERT_TRUE(value);
  const auto executable = Compiled(Halving("0.001"));
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {101}), 0);
  const Literal* const arguments[] = {&x};
  RunStatistics statistics;
  ASSERT_TRUE(executable->Run(arguments, &statistics).ok());
  EXPECT_EQ(statistics.read_backs, 1);
}

TEST(LoopKernelTest, ALoopThatNeverRunsLeavesItsState) {
  CheckLoop(Halving("1e30"), Exactly(1));
  CheckLoop(Recurrence(0, 17), Exactly(1));
}

// Long loops go on in another dispatch where the device stops loops, or where one would take too long.
TEST(LoopKernelTest, ManyTripsAreCountedToTheEnd) {
  Loop loop;
  loop.state = "(s32[], u32[])";
  loop.condition = Counts(70001);
  loop.body = std::string(kNext) + R"(  x = u32[] get-tuple-element(s), index=1
  a = u32[] constant(1664525)
  b = u32[] constant(1013904223)
  m = u32[] multiply(x, a)
  y = u32[] add(m, b)
  ROOT r = (s32[], u32[]) tuple(next, y)
)";
  loop.entry = "  x = u32[] parameter(0)\n  i = s32[] constant(0)\n  start = (s32[], u32[]) tuple(i, x)\n";
  CheckLoop(loop, Exactly(-1));
  EXPECT_EQ(Compiled(loop)->plan().dispatch_count(), 1);
}

TEST(LoopKernelTest, StateOfEveryType) {
  for (const char* type :
       {"pred", "s4", "u8", "s16", "u32", "s64", "u64", "f8e5m2", "bf16", "f16", "f64", "c64", "c128"}) {
    SCOPED_TRACE(type);
    Loop loop;
    loop.state = fmt::format("(s32[], {0}[37], {0}[37], {0}[])", type);
    loop.condition = Counts(5);
    loop.body = kNext + fmt::format(R"(  x = {0}[37] get-tuple-element(s), index=1
  y = {0}[37] get-tuple-element(s), index=2
  z = {0}[] get-tuple-element(s), index=3
  back = {0}[37] reverse(x), dimensions={{0}}
  three = s32[] constant(3)
  early = pred[] compare(i, three), direction=LT
  earlies = pred[37] broadcast(early), dimensions={{}}
  w = {0}[37] select(earlies, back, y)
  part = {0}[1] dynamic-slice(w, i), dynamic_slice_sizes={{1}}
  other = {0}[] reshape(part)
  all = {0}[1] reshape(z)
  changed = {0}[37] dynamic-update-slice(x, all, i)
  ROOT r = (s32[], {0}[37], {0}[37], {0}[]) tuple(next, w, changed, other)
)",
                                    type);
    loop.entry = fmt::format(
        "  x = {0}[37] parameter(0)\n  y = {0}[37] parameter(1)\n  z = {0}[] parameter(2)\n  i = s32[] constant(0)\n"
        "  start = {1} tuple(i, x, y, z)\n",
        type, loop.state);
    CheckLoop(loop, Exactly(1));
  }
}

// Loops in loops, branches in them, leaves that change places.
TEST(LoopKernelTest, LoopsAndBranchesInsideAreOfTheSameDispatch) {
  Loop loop;
  loop.functions = R"(inner_body {
  s = (s32[], f32[13]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[13] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  back = f32[13] reverse(x), dimensions={0}
  y = f32[13] subtract(x, back)
  ROOT r = (s32[], f32[13]) tuple(next, y)
}
inner_condition {
  s = (s32[], f32[13]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
shift { p = (f32[13], f32[]) parameter(0)
  x = f32[13] get-tuple-element(p), index=0
  a = f32[] get-tuple-element(p), index=1
  b = f32[13] broadcast(a), dimensions={}
  y = f32[13] add(x, b)
  two = f32[] constant(2)
  c = f32[] multiply(a, two)
  ROOT r = (f32[13], f32[]) tuple(y, c)
}
turn { p = (f32[13], f32[]) parameter(0)
  x = f32[13] get-tuple-element(p), index=0
  a = f32[] get-tuple-element(p), index=1
  y = f32[13] reverse(x), dimensions={0}
  ROOT r = (f32[13], f32[]) tuple(y, a)
}
keep { ROOT p = (f32[13], f32[]) parameter(0) }
)";
  loop.state = "(s32[], f32[13], f32[13], f32[])";
  loop.condition = Counts(7);
  loop.body = std::string(kNext) + R"(  x = f32[13] get-tuple-element(s), index=1
  y = f32[13] get-tuple-element(s), index=2
  a = f32[] get-tuple-element(s), index=3
  zero = s32[] constant(0)
  inner_start = (s32[], f32[13]) tuple(zero, x)
  inner = (s32[], f32[13]) while(inner_start), condition=inner_condition, body=inner_body
  u = f32[13] get-tuple-element(inner), index=1
  choice = (f32[13], f32[]) tuple(u, a)
  branch = (f32[13], f32[]) conditional(i, choice, choice, choice), branch_computations={shift, turn, keep}
  v = f32[13] get-tuple-element(branch), index=0
  b = f32[] get-tuple-element(branch), index=1
  ROOT r = (s32[], f32[13], f32[13], f32[]) tuple(next, y, v, b)
)";
  loop.entry =
      "  x = f32[13] parameter(0)\n  a = f32[] parameter(1)\n  i = s32[] constant(0)\n"
      "  start = (s32[], f32[13], f32[13], f32[]) tuple(i, x, x, a)\n";
  CheckLoop(loop, Exactly(1));
}

// What jax.lax.scan makes of a recurrent network: slices of what is scanned, products, stacked results.
Loop Scan(int time, int batch, int features) {
  const std::string x = fmt::format("f32[{},{},{}]", time, batch, features),
                    h = fmt::format("f32[{},{}]", batch, features);
  const std::string w = fmt::format("f32[{0},{0}]", features), step = fmt::format("f32[1,{},{}]", batch, features);
  Loop loop;
  loop.state = fmt::format("(s32[], {}, {}, {}, {})", h, x, x, w);
  loop.condition = Counts(time);
  loop.body = kNext + fmt::format(R"(  h = {0} get-tuple-element(s), index=1
  ys = {1} get-tuple-element(s), index=2
  xs = {1} get-tuple-element(s), index=3
  w = {2} get-tuple-element(s), index=4
  zero = s32[] constant(0)
  part = {3} dynamic-slice(xs, i, zero, zero), dynamic_slice_sizes={{1,{4},{5}}}
  x = {0} reshape(part)
  p = {0} dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  eighth = f32[] constant(0.125)
  eighths = {0} broadcast(eighth), dimensions={{}}
  scaled = {0} multiply(p, eighths)
  sum = {0} add(x, scaled)
  y = {0} tanh(sum)
  row = {3} reshape(y)
  stacked = {1} dynamic-update-slice(ys, row, i, zero, zero)
  ROOT r = {6} tuple(next, y, stacked, xs, w)
)",
                                  h, x, w, step, batch, features, loop.state);
  loop.entry = fmt::format(
      "  h = {} parameter(0)\n  xs = {} parameter(1)\n  w = {} parameter(2)\n  i = s32[] constant(0)\n"
      "  z = f32[] constant(0)\n  ys = {} broadcast(z), dimensions={{}}\n  start = {} tuple(i, h, ys, xs, w)\n",
      h, x, w, x, loop.state);
  return loop;
}

TEST(LoopKernelTest, AScanWithProductsStacksItsResultsInPlace) {
  RunOptions options;
  options.dispatches = 2;  // the zeros that results are stacked on
  CheckLoop(Scan(11, 3, 5), options);
  CheckLoop(Scan(5, 8, 32), options);
  CheckLoop(Scan(5, 1, 64), options);
}

// Rows and scalars of reductions, variadic ones with ties, elements from what was reduced.
TEST(LoopKernelTest, ReductionsOfEveryForm) {
  Loop loop;
  loop.functions = R"(add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
larger { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
first { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  tie = pred[] and(eq, lt)
  keep = pred[] or(gt, tie)
  v = f32[] select(keep, a, b)
  k = s32[] select(keep, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
)";
  loop.state = "(s32[], f32[5,67], s32[5], f32[67])";
  loop.condition = Counts(3);
  loop.body = std::string(kNext) + R"(  x = f32[5,67] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  least = f32[] constant(-inf)
  none = s32[] constant(0)
  most = f32[5] reduce(x, least), dimensions={1}, to_apply=larger
  mosts = f32[5,67] broadcast(most), dimensions={0}
  below = f32[5,67] subtract(x, mosts)
  e = f32[5,67] exponential(below)
  sum = f32[5] reduce(e, zero), dimensions={1}, to_apply=add
  sums = f32[5,67] broadcast(sum), dimensions={0}
  y = f32[5,67] divide(e, sums)
  at = s32[5,67] iota(), iota_dimension=1
  best = (f32[5], s32[5]) reduce(x, at, least, none), dimensions={1}, to_apply=first
  k = s32[5] get-tuple-element(best), index=1
  columns = f32[67] reduce(y, zero), dimensions={0}, to_apply=add
  ROOT r = (s32[], f32[5,67], s32[5], f32[67]) tuple(next, y, k, columns)
)";
  loop.entry =
      "  x = f32[5,67] parameter(0)\n  k = s32[5] parameter(1)\n  c = f32[67] parameter(2)\n  i = s32[] constant(0)\n"
      "  start = (s32[], f32[5,67], s32[5], f32[67]) tuple(i, x, k, c)\n";
  RunOptions options;
  options.dispatches = 1;
  CheckLoop(loop, options);
}

// Sums of many terms by one lane round as little as those that lanes share: 2048 times 0.1, one after another, is
// 216 units in the last place off.
TEST(LoopKernelTest, LongSumsOfOneLaneRoundLittle) {
  const std::string text = R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
more {
  s = (f32[2048,40], f32[40], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=2
  end = s32[] constant(3)
  ROOT r = pred[] compare(n, end), direction=LT
}
again {
  s = (f32[2048,40], f32[40], s32[]) parameter(0)
  x = f32[2048,40] get-tuple-element(s), index=0
  last = f32[40] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(n, one)
  zero = f32[] constant(0)
  spread = f32[2048,40] broadcast(last), dimensions={1}
  cut = f32[2048,40] minimum(x, spread)
  columns = f32[40] reduce(cut, zero), dimensions={0}, to_apply=sum
  ROOT r = (f32[2048,40], f32[40], s32[]) tuple(x, columns, next)
}
ENTRY e {
  x = f32[2048,40] parameter(0)
  first = f32[40] parameter(1)
  none = s32[] constant(0)
  s = (f32[2048,40], f32[40], s32[]) tuple(x, first, none)
  w = (f32[2048,40], f32[40], s32[]) while(s), condition=more, body=again
  ROOT r = f32[40] get-tuple-element(w), index=1
})";
  Literal x(Shape(ElementType::kF32, {2048, 40})), first(Shape(ElementType::kF32, {40}));
  for (int64_t i = 0; i < x.element_count(); ++i) x.SetDouble(i, 0.1);
  for (int64_t i = 0; i < first.element_count(); ++i) first.SetDouble(i, 1);
  for (BindingMode mode : ModesToRun()) {
    const auto value = RunOnDevice(mode, *ParseModule(text), {x, first});
    ASSERT_TRUE(value.has_value());
    for (int64_t i = 0; i < 40; ++i) EXPECT_NEAR(value->GetDouble(i), 2048 * double{0.1f}, 16 * 1.526e-5) << i;
  }
}

// The last element that is no zero, and what it was taken at: neighbours go to one lane, and lanes are joined in order.
TEST(LoopKernelTest, ReductionsWhoseOrderCountsAreSharedOut) {
  Loop loop;
  loop.functions =
      R"(later { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  none = f32[] constant(0)  some = pred[] compare(b, none), direction=NE
  v = f32[] select(some, b, a)
  k = s32[] select(some, j, i)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
)";
  loop.state = "(s32[], f32[497], s32[])";
  loop.condition = Counts(4);
  loop.body = std::string(kNext) + R"(  x = f32[497] get-tuple-element(s), index=1
  old = s32[] get-tuple-element(s), index=2
  zero = f32[] constant(0)
  none = s32[] constant(-1)
  at = s32[497] iota(), iota_dimension=0
  zeros = f32[497] broadcast(zero), dimensions={}
  olds = s32[497] broadcast(old), dimensions={}
  before = pred[497] compare(at, olds), direction=LT
  kept = f32[497] select(before, x, zeros)
  last = (f32[], s32[]) reduce(kept, at, zero, none), dimensions={0}, to_apply=later
  v = f32[] get-tuple-element(last), index=0
  k = s32[] get-tuple-element(last), index=1
  vs = f32[497] broadcast(v), dimensions={}
  y = f32[497] add(x, vs)
  ROOT r = (s32[], f32[497], s32[]) tuple(next, y, k)
)";
  loop.entry =
      "  x = f32[497] parameter(0)\n  i = s32[] constant(0)\n  k = s32[] constant(400)\n"
      "  start = (s32[], f32[497], s32[]) tuple(i, x, k)\n";
  RunOptions options;
  options.dispatches = 1;
  CheckLoop(loop, options);
}

// A GPU's lanes that share a row add up by shuffles, in the order of the elements, and wait for no others.
TEST(LoopKernelTest, LanesOfAGpuMeetByShuffles) {
  const auto client = GpuClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  if (!client->device().facts().subgroup_shuffle) GTEST_SKIP() << "the device has no shuffles";
  // 64 rows of 64: in a workgroup of 512 lanes four or eight have a row.
  Loop loop;
  loop.functions = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  loop.state = "(s32[], f32[64,64])";
  loop.condition = Counts(3);
  loop.body = std::string(kNext) + R"(  x = f32[64,64] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  t = f32[64] reduce(x, zero), dimensions={1}, to_apply=sum
  c = f32[] constant(0.01)
  cs = f32[64] broadcast(c), dimensions={}
  m = f32[64] multiply(t, cs)
  ts = f32[64,64] broadcast(m), dimensions={1}
  y = f32[64,64] subtract(x, ts)
  ROOT r = (s32[], f32[64,64]) tuple(next, y)
)";
  loop.entry = "  x = f32[64,64] parameter(0)\n  i = s32[] constant(0)\n  start = (s32[], f32[64,64]) tuple(i, x)\n";
  const auto module = ParseModule(loop.Text());
  ASSERT_NE(module, nullptr);
  auto executable = client->Compile(*module, {});
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ASSERT_EQ((*executable)->plan().kernels.size(), 1u);
  const std::string& text = (*executable)->plan().kernels[0].generated;
  EXPECT_THAT(text, HasSubstr("subgroupShuffleXor(sum_0_0, m)"));
  EXPECT_THAT(text, Not(HasSubstr("shared float")));
  const std::vector<Literal> arguments = RandomArguments(*module, 3);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  ExpectOnGpu(*client, *module, arguments, {}, 1, *expected);
}

// Layers of one kind are one text for a driver, each with its own weights. The first one reads something else.
TEST(LoopKernelTest, LayersOfAGpuStandOnce) {
  const auto client = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  constexpr int kLayers = 5;
  Loop loop;
  loop.functions = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  loop.state = "(s32[], f32[8,32]";
  loop.condition = Counts(3);
  loop.body = kNext + std::string(R"(  x = f32[8,32] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  part = f32[] constant(0.03125)
  parts = f32[8] broadcast(part), dimensions={}
  z = f32[8,32] cosine(x)
)");
  std::string weights, arguments;
  for (int layer = 0; layer < kLayers; ++layer) {
    loop.state += ", f32[32,32]";
    loop.body += fmt::format(R"(  w{0} = f32[32,32] get-tuple-element(s), index={1}
  t{0} = f32[8] reduce({2}, zero), dimensions={{1}}, to_apply=sum
  m{0} = f32[8] multiply(t{0}, parts)
  b{0} = f32[8,32] broadcast(m{0}), dimensions={{0}}
  d{0} = f32[8,32] subtract({2}, b{0})
  q{0} = f32[8,32] multiply(d{0}, d{0})
  u{0} = f32[8] reduce(q{0}, zero), dimensions={{1}}, to_apply=sum
  v{0} = f32[8,32] broadcast(u{0}), dimensions={{0}}
  e{0} = f32[8,32] exponential(v{0})
  n{0} = f32[8,32] divide(d{0}, e{0})
  p{0} = f32[8,32] dot(n{0}, w{0}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h{0} = f32[8,32] tanh(p{0})
  z{0} = f32[8,32] add(h{0}, {2})
)",
                             layer, layer + 2, layer == 0 ? "z" : fmt::format("z{}", layer - 1));
    weights += fmt::format(", w{}", layer);
    arguments += fmt::format("  w{0} = f32[32,32] parameter({1})\n", layer, layer + 1);
  }
  loop.state += ")";
  loop.body += fmt::format("  ROOT r = {} tuple(next, z{}{})\n", loop.state, kLayers - 1, weights);
  loop.entry = fmt::format("  x = f32[8,32] parameter(0)\n{}  i = s32[] constant(0)\n  start = {} tuple(i, x{})\n",
                           arguments, loop.state, weights);
  const auto module = ParseModule(loop.Text());
  ASSERT_NE(module, nullptr);
  auto executable = client->Compile(*module, {});
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ASSERT_EQ((*executable)->plan().kernels.size(), 1u);
  EXPECT_THAT((*executable)->plan().kernels[0].generated, HasSubstr("[[dont_unroll]] for (uint round"));
  const std::vector<Literal> inputs = RandomArguments(*module, 3);
  const auto expected = RunOnCpu(*module, inputs);
  ASSERT_TRUE(expected.has_value());
  ExpectOnGpu(*client, *module, inputs, {}, 1, *expected);
}

// A software driver would compile it for minutes.
TEST(LoopKernelTest, AVeryLongTextIsNoKernelOfASoftwareDriver) {
  Loop loop = Recurrence(3, 40);
  std::string y = "y";
  std::string text;
  for (int k = 0; k < 400; ++k) {
    const std::string head = fmt::format("h{}", k), tail = fmt::format("t{}", k), turned = fmt::format("c{}", k);
    text += fmt::format(
        "  {0} = f32[1] slice({3}), slice={{[0:1]}}\n  {1} = f32[39] slice({3}), slice={{[1:40]}}\n"
        "  {2} = f32[40] concatenate({1}, {0}), dimensions={{0}}\n  n{4} = f32[] reduce({2}, f), dimensions={{0}}, "
        "to_apply=sum\n  b{4} = f32[40] broadcast(n{4}), dimensions={{}}\n  a{4} = f32[40] divide({2}, b{4})\n",
        head, tail, turned, y, k);
    y = fmt::format("a{}", k);
  }
  loop.functions = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  loop.body.insert(loop.body.find("  ROOT"), text);
  loop.body.replace(loop.body.find("(next, y"), 8, "(next, " + y);
  const auto executable = Compiled(loop);
  const bool software = DeviceClient(BindingMode::kDescriptors)->device().facts().is_software();
  const auto matcher = HasSubstr("more than the 960 of a software driver's loop");
  EXPECT_THAT(ToText(executable->plan()), software ? matcher : HasSubstr("while"));
}

TEST(LoopKernelTest, ABodyWithALongTransformKeepsItsKernelsApart) {
  Loop loop = Recurrence(3, 40);
  const size_t at = loop.body.find("  ROOT");
  loop.body.insert(
      at,
      "  none = f32[] constant(0)\n  long = f32[131072] pad(y, none), padding=0_131032\n"
      "  z = c64[65537] fft(long), fft_type=RFFT, fft_length={131072}\n"
      "  back = f32[131072] fft(z), fft_type=IRFFT, fft_length={131072}\n  t = f32[40] slice(back), slice={[0:40]}\n");
  loop.body.replace(loop.body.find("(next, y"), 8, "(next, t");
  RunOptions options;
  options.tolerance = Tolerance{.rtol = 1e-5, .atol = 1e-5};
  CheckLoop(loop, options);
  EXPECT_THAT(ToText(Compiled(loop)->plan()), HasSubstr("while loop (3 iterations; not one dispatch: "));
}

}  // namespace loop_kernel_test
}  // namespace VXLA_NAMESPACE::testing
