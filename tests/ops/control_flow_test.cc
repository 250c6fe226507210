// While and conditional on a device: bodies on the GPU, the host deciding how many iterations it submits. (Loops that a
// workgroup runs by itself are those of loop_kernel_test.cc.)
#include <gmock/gmock.h>

#include <bit>

#include "backend/cpu/reference/evaluator.h"
#include "backend/device.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;

Literal Floats(std::vector<float> values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}),
                                    std::span<const float>(values));
}
Literal Int(int64_t value) { return Literal::ScalarInt(ElementType::kS32, value); }

RunOptions Exact(bool allow_fallbacks = false) {
  RunOptions options;
  options.tolerance = Tolerance{};
  options.allow_fallbacks = allow_fallbacks;
  options.loop_kernels = false;
  return options;
}

CompileOptions HostLoops() {
  CompileOptions options;
  options.loop_kernels = false;
  return options;
}

struct Compiled {
  std::shared_ptr<Executable> executable;
  RunStatistics statistics;
  Result<Literal> result = Internal("not run");
};

Compiled RunOnce(BindingMode mode, const std::string& text, const std::vector<Literal>& arguments,
                 const CompileOptions& options = HostLoops()) {
  Compiled run;
  const auto module = ParseModule(text);
  auto executable = DeviceClient(mode)->Compile(*module, options);
  VXLA_CHECK(executable.ok(), executable.status().message());
  run.executable = *executable;
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  run.result = run.executable->Run(pointers, &run.statistics);
  return run;
}

int CopyCount(const Plan& plan) {
  int count = 0;
  for (const Segment& segment : plan.segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    if (gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands) count += std::holds_alternative<CopyBytes>(command);
  }
  return count;
}

const HostDecide& Decision(const Plan& plan, int number = 0) {
  for (const Segment& segment : plan.segments) {
    const auto* decision = std::get_if<HostDecide>(&segment);
    if (decision != nullptr && number-- == 0) return *decision;
  }
  VXLA_CHECK(false, "no such decision");
}

std::string Counted(int iterations, const std::string& start = "0", const std::string& direction = "LT",
                    const std::string& step = "1") {
  return R"(HloModule counted
body {
  s = (s32[], f32[1009], f32[1009]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1009] get-tuple-element(s), index=1
  w = f32[1009] get-tuple-element(s), index=2
  one = s32[] constant()" +
         step + R"()
  next = s32[] add(i, one)
  f = f32[] convert(i)
  b = f32[1009] broadcast(f), dimensions={}
  m = f32[1009] multiply(x, w)
  y = f32[1009] add(m, b)
  ROOT r = (s32[], f32[1009], f32[1009]) tuple(next, y, w)
}
condition {
  s = (s32[], f32[1009], f32[1009]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant()" +
         std::to_string(iterations) + R"()
  ROOT c = pred[] compare(i, n), direction=)" +
         direction + R"(
}
ENTRY main {
  x = f32[1009] parameter(0)
  w = f32[1009] parameter(1)
  i = s32[] constant()" +
         start + R"()
  s = (s32[], f32[1009], f32[1009]) tuple(i, x, w)
  loop = (s32[], f32[1009], f32[1009]) while(s), condition=condition, body=body
  y = f32[1009] get-tuple-element(loop), index=1
  k = s32[] get-tuple-element(loop), index=0
  ROOT r = (f32[1009], s32[]) tuple(y, k)
})";
}

TEST(WhileTest, ACountedLoopReadsNothingBackAndUpdatesItsStateInPlace) {
  const std::string text = Counted(37);
  const auto module = ParseModule(text);
  const auto arguments = RandomArguments(*module);
  RunBoth(text, arguments, Exact());
  const Compiled run = RunOnce(BindingMode::kAddresses, text, arguments);
  EXPECT_EQ(run.statistics.read_backs, 0);
  const Plan& plan = run.executable->plan();
  EXPECT_EQ(Decision(plan).trip_count, 37);
  EXPECT_EQ(Decision(plan).selector.buffer, -1);
  EXPECT_LE(CopyCount(plan), 3) << ToText(plan);  // the initial values, and no copy per iteration of an array
  EXPECT_THAT(ToText(plan), HasSubstr("while loop (37 iterations)"));
}

TEST(WhileTest, TripCountsAreFoundInEveryDirection) {
  struct Case {
    int limit;
    const char *start, *direction, *step;
    int count;
  };
  for (const Case& c : {Case{10, "0", "LT", "3", 4}, Case{10, "0", "LE", "5", 3}, Case{0, "7", "GT", "-2", 4},
                        Case{0, "7", "GE", "-7", 2}, Case{12, "0", "NE", "4", 3}, Case{3, "3", "EQ", "1", 1},
                        Case{0, "5", "LT", "1", 0}}) {
    const std::string text = Counted(c.limit, c.start, c.direction, c.step);
    const auto arguments = RandomArguments(*ParseModule(text));
    RunBoth(text, arguments, Exact());
    const Compiled run = RunOnce(BindingMode::kAddresses, text, arguments);
    EXPECT_EQ(Decision(run.executable->plan()).trip_count, c.count) << text;
  }
}

// Collatz: how long it takes depends on the argument.
constexpr char kCollatz[] = R"(HloModule collatz
body {
  s = (s32[], s32[]) parameter(0)
  v = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  two = s32[] constant(2)
  three = s32[] constant(3)
  half = s32[] divide(v, two)
  bit = s32[] and(v, one)
  odd = pred[] compare(bit, one), direction=EQ
  tripled = s32[] multiply(v, three)
  up = s32[] add(tripled, one)
  next = s32[] select(odd, up, half)
  count = s32[] add(n, one)
  ROOT r = (s32[], s32[]) tuple(next, count)
}
condition {
  s = (s32[], s32[]) parameter(0)
  v = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ROOT c = pred[] compare(v, one), direction=NE
}
ENTRY main {
  v = s32[] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], s32[]) tuple(v, zero)
  ROOT loop = (s32[], s32[]) while(s), condition=condition, body=body
})";

// The host asks after 1, 3, 7, 15, ... iterations; one more than the loop has finds that it is over.
int64_t Waits(int64_t iterations) { return std::bit_width(static_cast<uint64_t>(iterations + 1)); }

TEST(WhileTest, AsksOnlyNowAndThenHowItStands) {
  for (int start : {27, 1, 2}) {
    const auto expected = RunBoth(kCollatz, {Int(start)}, Exact());
    ASSERT_TRUE(expected.has_value());
    const int64_t iterations = expected->tuple_elements()[1].GetInt(0);
    for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
      const Compiled run = RunOnce(mode, kCollatz, {Int(start)});
      ASSERT_TRUE(run.result.ok());
      EXPECT_EQ(run.statistics.read_backs, Waits(iterations));
    }
  }
}

TEST(WhileTest, TheIterationLimitNamesTheLoopOnBothDevices) {
  CompileOptions options;
  options.max_loop_iterations = 110;
  EXPECT_EQ(RunOnce(BindingMode::kAddresses, kCollatz, {Int(27)}, options).result.status().message(),
            "while: iteration limit 110 reached by loop");
  options.max_loop_iterations = 111;
  EXPECT_TRUE(RunOnce(BindingMode::kAddresses, kCollatz, {Int(27)}, options).result.ok());
  const std::string counted = Counted(37);
  const auto arguments = RandomArguments(*ParseModule(counted));
  for (int limit : {36, 37}) {
    options.max_loop_iterations = limit;
    const Compiled run = RunOnce(BindingMode::kDescriptors, counted, arguments, options);
    EvaluateOptions on_cpu;
    on_cpu.max_loop_iterations = limit;
    const std::vector<const Literal*> pointers{&arguments[0], &arguments[1]};
    const auto cpu = Evaluate(*ParseModule(counted), pointers, on_cpu);
    EXPECT_EQ(run.result.ok(), limit == 37);
    EXPECT_EQ(cpu.ok(), limit == 37);
    if (limit == 37) continue;
    EXPECT_EQ(run.result.status().code(), StatusCode::kMismatch);
    EXPECT_EQ(run.result.status().message(), cpu.status().message());
  }
}

// The state is one array, and the condition reduces it.
TEST(WhileTest, AStateThatIsNoTuple) {
  RunBoth(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body {
  x = f32[17] parameter(0)
  ROOT y = f32[17] add(x, x)
}
condition {
  x = f32[17] parameter(0)
  zero = f32[] constant(0)
  sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  limit = f32[] constant(1000)
  ROOT c = pred[] compare(sum, limit), direction=LT
}
ENTRY main {
  x = f32[17] parameter(0)
  ROOT loop = f32[17] while(x), condition=condition, body=body
})",
          {Floats(std::vector<float>(17, 0.25f))}, Exact());
}

// Elements change places, one goes round a register, one is read at other positions than it is written.
TEST(WhileTest, AllElementsOfTheStateChangeAtOnce) {
  RunBoth(R"(HloModule m
body {
  s = (s32[], f32[13], f32[13], f32[13], f32[13], f32[13]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[13] get-tuple-element(s), index=1
  b = f32[13] get-tuple-element(s), index=2
  c = f32[13] get-tuple-element(s), index=3
  d = f32[13] get-tuple-element(s), index=4
  e = f32[13] get-tuple-element(s), index=5
  one = s32[] constant(1)
  next = s32[] add(i, one)
  shifted = f32[13] reverse(e), dimensions={0}
  mixed = f32[13] add(shifted, e)
  new = f32[13] negate(d)
  ROOT r = (s32[], f32[13], f32[13], f32[13], f32[13], f32[13]) tuple(next, b, a, new, c, mixed)
}
condition {
  s = (s32[], f32[13], f32[13], f32[13], f32[13], f32[13]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  i = s32[] constant(0)
  a = f32[13] parameter(0)
  b = f32[13] parameter(1)
  c = f32[13] parameter(2)
  s = (s32[], f32[13], f32[13], f32[13], f32[13], f32[13]) tuple(i, a, b, c, a, b)
  ROOT loop = (s32[], f32[13], f32[13], f32[13], f32[13], f32[13]) while(s), condition=condition, body=body
})",
          {RandomLiteral(Shape(ElementType::kF32, {13}), 1), RandomLiteral(Shape(ElementType::kF32, {13}), 2),
           RandomLiteral(Shape(ElementType::kF32, {13}), 3)},
          Exact());
}

// Both loops call the same computations; the inner one starts anew in each iteration of the outer one.
constexpr char kNested[] = R"(HloModule nested
twice { x = f32[7] parameter(0)  ROOT y = f32[7] add(x, x) }
inner_body {
  s = (s32[], (f32[7], f32[0]), f32[7]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  p = (f32[7], f32[0]) get-tuple-element(s), index=1
  x = f32[7] get-tuple-element(p), index=0
  e = f32[0] get-tuple-element(p), index=1
  k = f32[7] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  t = f32[7] call(x), to_apply=twice
  y = f32[7] subtract(t, k)
  q = (f32[7], f32[0]) tuple(y, e)
  ROOT r = (s32[], (f32[7], f32[0]), f32[7]) tuple(next, q, k)
}
until_four {
  s = (s32[], (f32[7], f32[0]), f32[7]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT
}
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
same { x = f32[7] parameter(0)  ROOT y = f32[7] copy(x) }
halve { x = f32[7] parameter(0)  h = f32[] constant(0.5)  b = f32[7] broadcast(h), dimensions={}  ROOT y = f32[7] multiply(x, b) }
outer_body {
  s = (f32[7], f32[0], s32[]) parameter(0)
  x = f32[7] get-tuple-element(s), index=0
  e = f32[0] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  k = f32[7] constant({1, 2, 3, 4, 5, 6, 7})
  zero = s32[] constant(0)
  p = (f32[7], f32[0]) tuple(x, e)
  i = (s32[], (f32[7], f32[0]), f32[7]) tuple(zero, p, k)
  inner = (s32[], (f32[7], f32[0]), f32[7]) while(i), condition=until_four, body=inner_body
  q = (f32[7], f32[0]) get-tuple-element(inner), index=1
  y = f32[7] get-tuple-element(q), index=0
  f = f32[0] get-tuple-element(q), index=1
  one = s32[] constant(1)
  next = s32[] add(n, one)
  bit = s32[] and(n, one)
  odd = pred[] compare(bit, one), direction=EQ
  z = f32[7] conditional(odd, y, y), true_computation=halve, false_computation=same
  ROOT r = (f32[7], f32[0], s32[]) tuple(z, f, next)
}
below {
  s = (f32[7], f32[0], s32[]) parameter(0)
  x = f32[7] get-tuple-element(s), index=0
  a = f32[7] abs(x)
  zero = f32[] constant(0)
  sum = f32[] reduce(a, zero), dimensions={0}, to_apply=add
  limit = f32[] constant(100000)
  ROOT c = pred[] compare(sum, limit), direction=LT
}
ENTRY main {
  x = f32[7] parameter(0)
  e = f32[0] constant({})
  n = s32[] constant(0)
  zero = s32[] constant(0)
  k = f32[7] constant({7, 6, 5, 4, 3, 2, 1})
  p = (f32[7], f32[0]) tuple(x, e)
  i = (s32[], (f32[7], f32[0]), f32[7]) tuple(zero, p, k)
  first = (s32[], (f32[7], f32[0]), f32[7]) while(i), condition=until_four, body=inner_body
  q = (f32[7], f32[0]) get-tuple-element(first), index=1
  y = f32[7] get-tuple-element(q), index=0
  s = (f32[7], f32[0], s32[]) tuple(y, e, n)
  ROOT loop = (f32[7], f32[0], s32[]) while(s), condition=below, body=outer_body
})";

TEST(WhileTest, NestsWithConditionalsCallsAndEmptyArrays) {
  const std::vector<Literal> arguments{Floats({2, 3, 5, 7, 11, 13, 17})};
  RunBoth(kNested, arguments, Exact());
  RunOptions unfused = Exact();
  unfused.fusion = false;
  RunBoth(kNested, arguments, unfused);
  const Compiled run = RunOnce(BindingMode::kAddresses, kNested, arguments);
  EXPECT_EQ(Decision(run.executable->plan(), 0).trip_count, 4);  // first
  EXPECT_TRUE(Decision(run.executable->plan(), 1).ahead);        // loop; the counted one in it is written out
  const auto json = ToJson(run.executable->plan());
  EXPECT_EQ(json["decisions"].size(), 2u);  // the conditional is commands of the loop
  EXPECT_EQ(json["decisions"][1]["on_device"], true);
}

// What the body hands on has no copy, wherever it comes from; a result may be it, or the same element twice.
TEST(WhileTest, ElementsThatTheBodyHandsOnAreNotCopied) {
  const std::string text = R"(HloModule m
body {
  s = (f32[1000], s32[], f32[1000], f32[1000], s32[]) parameter(0)
  p = f32[1000] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  c = f32[1000] get-tuple-element(s), index=2
  x = f32[1000] get-tuple-element(s), index=3
  n = s32[] get-tuple-element(s), index=4
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[1000] add(p, c)
  y = f32[1000] add(a, x)
  ROOT r = (f32[1000], s32[], f32[1000], f32[1000], s32[]) tuple(p, next, c, y, n)
}
condition {
  s = (f32[1000], s32[], f32[1000], f32[1000], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=4
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  p = f32[1000] parameter(0)
  n = s32[] parameter(1)
  d = f32[1000] negate(p)
  one = f32[] constant(1)
  b = f32[1000] broadcast(one), dimensions={}
  zero = s32[] constant(0)
  s = (f32[1000], s32[], f32[1000], f32[1000], s32[]) tuple(p, zero, d, b, n)
  loop = (f32[1000], s32[], f32[1000], f32[1000], s32[]) while(s), condition=condition, body=body
  l0 = f32[1000] get-tuple-element(loop), index=0
  l2 = f32[1000] get-tuple-element(loop), index=2
  l3 = f32[1000] get-tuple-element(loop), index=3
  ROOT r = (f32[1000], f32[1000], f32[1000], f32[1000]) tuple(l3, l2, l0, l3)
})";
  const std::vector<Literal> arguments{RandomLiteral(Shape(ElementType::kF32, {1000}), 5), Int(6)};
  RunBoth(text, arguments, Exact());
  const Compiled run = RunOnce(BindingMode::kAddresses, text, arguments);
  const Plan& plan = run.executable->plan();
  for (size_t i = 1; i < plan.segments.size(); ++i) {
    const auto* decision = std::get_if<HostDecide>(&plan.segments[i - 1]);
    const bool in_loop = decision != nullptr;
    const auto* gpu = std::get_if<GpuCommands>(&plan.segments[i]);
    if (!in_loop || gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands)
      EXPECT_FALSE(std::holds_alternative<CopyBytes>(command)) << ToText(plan);
  }
}

TEST(WhileTest, InstructionsWithoutAShaderAreHostStepsOfTheBody) {
  const std::string text = R"(HloModule m
yes { p = f32[] parameter(0)  ROOT c = pred[] constant(true) }
no { p = f32[] parameter(0)  ROOT c = pred[] constant(false) }
less { p = f32[] parameter(0)  q = f32[] parameter(1)  l = pred[] compare(p, q), direction=LT
  ROOT c = pred[] conditional(l, p, q), true_computation=yes, false_computation=no }
body {
  s = (s32[], f32[11], f32[11]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[11] get-tuple-element(s), index=1
  k = f32[11] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  m = f32[11] multiply(x, k)
  sorted = f32[11] sort(m), dimensions={0}, to_apply=less
  y = f32[11] subtract(sorted, x)
  ROOT r = (s32[], f32[11], f32[11]) tuple(next, y, sorted)
}
condition {
  s = (s32[], f32[11], f32[11]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[11] parameter(0)
  k = f32[11] parameter(1)
  i = s32[] constant(0)
  s = (s32[], f32[11], f32[11]) tuple(i, x, k)
  ROOT loop = (s32[], f32[11], f32[11]) while(s), condition=condition, body=body
})";
  const auto arguments = RandomArguments(*ParseModule(text));
  RunBoth(text, arguments, Exact(true));
  const Compiled run = RunOnce(BindingMode::kAddresses, text, arguments);
  ASSERT_EQ(run.executable->fallbacks().size(), 1u);
  EXPECT_EQ(run.executable->fallbacks()[0].instruction, "body/sorted");
  EXPECT_EQ(run.executable->fallbacks()[0].opcode, "sort");
  EXPECT_EQ(run.statistics.read_backs, 0);
  CompileOptions strict;
  strict.require_gpu = true;
  const auto refused = DeviceClient(BindingMode::kAddresses)->Compile(*ParseModule(text), strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kDeviceFailure);
  EXPECT_THAT(refused.status().message(), HasSubstr("sort body/sorted would run on the host"));
}

TEST(WhileTest, ProfilesCountEveryIteration) {
  const std::string text = Counted(37);
  CompileOptions options = HostLoops();
  options.profile = true;
  const Compiled run = RunOnce(BindingMode::kAddresses, text, RandomArguments(*ParseModule(text)), options);
  ASSERT_TRUE(run.result.ok());
  ASSERT_EQ(run.statistics.steps.size(), run.executable->plan().steps.size());
  int64_t most = 0;
  for (const StepTime& step : run.statistics.steps) most = std::max(most, step.runs);
  EXPECT_EQ(most, 37);
}

// One donated parameter is the state's initial value, another one is read by every iteration.
TEST(WhileTest, ADonatedParameterHoldsTheState) {
  std::string text = Counted(5);
  text.replace(text.find("HloModule counted"), 17, "HloModule counted, input_output_alias={ {0}: (0, {}, may-alias) }");
  const auto module = ParseModule(text);
  const auto arguments = RandomArguments(*module);
  RunBoth(text, arguments, Exact());
  const Compiled run = RunOnce(BindingMode::kAddresses, text, arguments);
  EXPECT_EQ(run.executable->plan().parameters[0].donated_to, 0) << ToText(run.executable->plan());
  text.replace(text.find("(0, {}, may"), 11, "(1, {}, may");
  RunBoth(text, arguments, Exact());
}

std::string Branches(const std::string& selector, int branches) {
  std::string text = "HloModule branches\n";
  for (int k = 0; k < branches; ++k) {
    text += fmt::format(
        "b{0} {{\n  s = (f32[19], f32[19]) parameter(0)\n  x = f32[19] get-tuple-element(s), index=0\n"
        "  y = f32[19] get-tuple-element(s), index=1\n  k = f32[] constant({0})\n"
        "  c = f32[19] broadcast(k), dimensions={{}}\n  z = f32[19] add(x, c)\n"
        "  ROOT r = (f32[19], f32[19], f32[]) tuple({1}, y, k)\n}}\n",
        k, k == 1 ? "x" : "z");
  }
  text += "ENTRY main {\n  x = f32[19] parameter(0)\n  y = f32[19] parameter(1)\n  i = " + selector +
          " parameter(2)\n  n = f32[19] negate(x)\n  t = (f32[19], f32[19]) tuple(n, y)\n  c = (f32[19], f32[19], "
          "f32[]) conditional(i";
  for (int k = 0; k < branches; ++k) text += ", t";
  text += ")";
  if (selector == "pred[]") {
    text += ", true_computation=b0, false_computation=b1";
  } else {
    text += ", branch_computations={";
    for (int k = 0; k < branches; ++k) text += (k == 0 ? "b" : ", b") + std::to_string(k);
    text += "}";
  }
  return text +
         "\n  a = f32[19] get-tuple-element(c), index=0\n  b = f32[19] get-tuple-element(c), index=1\n"
         "  k = f32[] get-tuple-element(c), index=2\n  s = f32[19] add(a, n)\n"
         "  ROOT r = (f32[19], f32[19], f32[], f32[19]) tuple(s, b, k, a)\n}\n";
}

TEST(ConditionalTest, RunsTheBranchThatTheIndexNames) {
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {19}), 1),
                y = RandomLiteral(Shape(ElementType::kF32, {19}), 2);
  for (int index : {0, 1, 2, 3, -1, 100}) RunBoth(Branches("s32[]", 4), {x, y, Int(index)}, Exact());
  for (int pred : {0, 1}) RunBoth(Branches("pred[]", 2), {x, y, Literal::ScalarInt(ElementType::kPred, pred)}, Exact());
  const Compiled run = RunOnce(BindingMode::kDescriptors, Branches("s32[]", 4), {x, y, Int(2)});
  EXPECT_EQ(run.statistics.read_backs, 0);  // all branches are recorded, those not taken do nothing
  EXPECT_TRUE(run.executable->fallbacks().empty());
}

TEST(ConditionalTest, AConstantIndexTakesItsBranchWithoutAsking) {
  std::string text = Branches("s32[]", 3);
  text.replace(text.find("i = s32[] parameter(2)"), 22, "i = s32[] constant(1)");
  const auto arguments = RandomArguments(*ParseModule(text));
  RunBoth(text, arguments, Exact());
  const Compiled run = RunOnce(BindingMode::kAddresses, text, arguments);
  EXPECT_EQ(run.statistics.read_backs, 0);
  EXPECT_THAT(ToText(run.executable->plan()), ::testing::Not(HasSubstr("conditional")));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
