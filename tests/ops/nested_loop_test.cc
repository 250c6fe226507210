// Loops that end by their data inside others that one workgroup runs, the updates that such loops make, and more arrays
// than a device binds.
#include <gmock/gmock.h>

#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace nested_loop_test {

using ::testing::HasSubstr;
using ::testing::Not;

RunOptions Exactly(int dispatches) {
  RunOptions options;
  options.tolerance = Tolerance{};
  options.dispatches = dispatches;
  return options;
}

void Check(const std::string& text, int dispatches = 1) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunBoth(text, RandomArguments(*module, 3), Exactly(dispatches));
}

std::string PlanOf(Client& client, const std::string& text) {
  const auto module = ParseModule(text);
  auto executable = client.Compile(*module, {});
  VXLA_CHECK(executable.ok(), executable.status().message());
  return ToText((*executable)->plan());
}
std::string PlanOf(const std::string& text) { return PlanOf(*DeviceClient(BindingMode::kDescriptors), text); }

// The steps of Collatz's walk to 1 from each of `count` numbers.
std::string Collatz(int count, int least = 1) {
  return fmt::format(R"(HloModule collatz
walking {{
  s = (u32[], u32[]) parameter(0)
  n = u32[] get-tuple-element(s), index=0
  end = u32[] constant(1)
  ROOT r = pred[] compare(n, end), direction=GT
}}
walk {{
  s = (u32[], u32[]) parameter(0)
  n = u32[] get-tuple-element(s), index=0
  steps = u32[] get-tuple-element(s), index=1
  one = u32[] constant(1)
  three = u32[] constant(3)
  half = u32[] shift-right-logical(n, one)
  triple = u32[] multiply(n, three)
  up = u32[] add(triple, one)
  bit = u32[] and(n, one)
  odd = pred[] compare(bit, one), direction=EQ
  next = u32[] select(odd, up, half)
  more = u32[] add(steps, one)
  ROOT r = (u32[], u32[]) tuple(next, more)
}}
counting {{
  s = (s32[], u32[{0}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant({0})
  ROOT r = pred[] compare(i, end), direction=LT
}}
count {{
  s = (s32[], u32[{0}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  all = u32[{0}] get-tuple-element(s), index=1
  at = u32[] convert(i)
  first = u32[] constant({1})
  from = u32[] add(at, first)
  none = u32[] constant(0)
  start = (u32[], u32[]) tuple(from, none)
  walked = (u32[], u32[]) while(start), condition=walking, body=walk
  steps = u32[] get-tuple-element(walked), index=1
  row = u32[1] reshape(steps)
  kept = u32[{0}] dynamic-update-slice(all, row, i)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], u32[{0}]) tuple(next, kept)
}}
ENTRY main {{
  all = u32[{0}] parameter(0)
  i = s32[] constant(0)
  start = (s32[], u32[{0}]) tuple(i, all)
  done = (s32[], u32[{0}]) while(start), condition=counting, body=count
  ROOT r = u32[{0}] get-tuple-element(done), index=1
}}
)",
                     count, least);
}

TEST(NestedLoopTest, AnInnerLoopThatEndsByItsDataIsOfTheSameDispatch) { Check(Collatz(40)); }

// 1,500 walks of 86 steps are more than lavapipe makes in a dispatch: another goes on in the middle of a walk.
TEST(NestedLoopTest, ADispatchGoesOnInTheMiddleOfATrip) {
  Check(Collatz(1500), -1);
  EXPECT_THAT(PlanOf(Collatz(1500)), HasSubstr("the device reads its condition)"));
}

// What lives across the place where a dispatch stops: registers of the trip, elements that lanes keep, a count of
// trips, the branch that is taken, and both loops' states. Two loops stop inside one that is counted and in a branch.
std::string DeepLoops(int trips, const std::string& limit) {
  return fmt::format(R"(HloModule deep
add {{ a = u32[] parameter(0)  b = u32[] parameter(1)  ROOT c = u32[] add(a, b) }}
below {{
  s = (u32[], u32[7], u32[]) parameter(0)
  n = u32[] get-tuple-element(s), index=0
  end = u32[] get-tuple-element(s), index=2
  ROOT r = pred[] compare(n, end), direction=LT
}}
grow {{
  s = (u32[], u32[7], u32[]) parameter(0)
  n = u32[] get-tuple-element(s), index=0
  x = u32[7] get-tuple-element(s), index=1
  end = u32[] get-tuple-element(s), index=2
  one = u32[] constant(1)
  next = u32[] add(n, one)
  factor = u32[7] broadcast(next), dimensions={{}}
  y = u32[7] multiply(x, factor)
  back = u32[7] reverse(y), dimensions={{0}}
  sum = u32[7] add(back, x)
  ROOT r = (u32[], u32[7], u32[]) tuple(next, sum, end)
}}
twice {{
  p = (u32[7], u32[], u32[]) parameter(0)
  x = u32[7] get-tuple-element(p), index=0
  end = u32[] get-tuple-element(p), index=1
  key = u32[] get-tuple-element(p), index=2
  none = u32[] constant(0)
  half = u32[] shift-right-logical(end, key)
  first = (u32[], u32[7], u32[]) tuple(none, x, half)
  a = (u32[], u32[7], u32[]) while(first), condition=below, body=grow
  an = u32[] get-tuple-element(a), index=0
  ax = u32[7] get-tuple-element(a), index=1
  keys = u32[7] broadcast(key), dimensions={{}}
  mixed = u32[7] xor(ax, keys)
  second = (u32[], u32[7], u32[]) tuple(an, mixed, end)
  b = (u32[], u32[7], u32[]) while(second), condition=below, body=grow
  bx = u32[7] get-tuple-element(b), index=1
  xs = u32[7] add(bx, x)
  ROOT r = (u32[7], u32[]) tuple(xs, an)
}}
plain {{
  p = (u32[7], u32[], u32[]) parameter(0)
  x = u32[7] get-tuple-element(p), index=0
  end = u32[] get-tuple-element(p), index=1
  ROOT r = (u32[7], u32[]) tuple(x, end)
}}
three {{
  s = (s32[], u32[7], u32[], u32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(3)
  ROOT r = pred[] compare(i, end), direction=LT
}}
inner {{
  s = (s32[], u32[7], u32[], u32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u32[7] get-tuple-element(s), index=1
  total = u32[] get-tuple-element(s), index=2
  limit = u32[] get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  u = u32[] convert(i)
  end = u32[] add(limit, u)
  key = u32[] constant(1)
  p = (u32[7], u32[], u32[]) tuple(x, end, key)
  which = s32[] and(i, one)
  chosen = (u32[7], u32[]) conditional(which, p, p), branch_computations={{twice, plain}}
  y = u32[7] get-tuple-element(chosen), index=0
  z = u32[] get-tuple-element(chosen), index=1
  more = u32[] add(total, z)
  ROOT r = (s32[], u32[7], u32[], u32[]) tuple(next, y, more, limit)
}}
going {{
  s = (s32[], u32[7], u32[], u32[7]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant({0})
  ROOT r = pred[] compare(i, end), direction=LT
}}
go {{
  s = (s32[], u32[7], u32[], u32[7]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u32[7] get-tuple-element(s), index=1
  total = u32[] get-tuple-element(s), index=2
  w = u32[7] get-tuple-element(s), index=3
  doubled = u32[7] add(x, x)
  none = s32[] constant(0)
  limit = u32[] constant({1})
  start = (s32[], u32[7], u32[], u32[]) tuple(none, doubled, total, limit)
  done = (s32[], u32[7], u32[], u32[]) while(start), condition=three, body=inner
  y = u32[7] get-tuple-element(done), index=1
  more = u32[] get-tuple-element(done), index=2
  zero = u32[] constant(0)
  sum = u32[] reduce(y, zero), dimensions={{0}}, to_apply=add
  last = u32[] xor(more, sum)
  kept = u32[7] subtract(w, doubled)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], u32[7], u32[], u32[7]) tuple(next, y, last, kept)
}}
ENTRY main {{
  x = u32[7] parameter(0)
  w = u32[7] parameter(1)
  i = s32[] constant(0)
  none = u32[] constant(0)
  start = (s32[], u32[7], u32[], u32[7]) tuple(i, x, none, w)
  ROOT done = (s32[], u32[7], u32[], u32[7]) while(start), condition=going, body=go
}}
)",
                     trips, limit);
}

TEST(NestedLoopTest, WhatLivesWhereADispatchStopsIsKept) {
  Check(DeepLoops(3, "5"));
  Check(DeepLoops(0, "5"));
  Check(DeepLoops(3, "20001"), -1);
  EXPECT_THAT(PlanOf(DeepLoops(3, "20001")), Not(HasSubstr("not one dispatch")));
}

// An update at places that data decide, in and beyond the array.
std::string Updates(const std::string& array, const std::string& updates, const std::string& indices,
                    const std::string& form, const std::string& combiner, bool fresh) {
  return fmt::format(R"(HloModule updates
combine {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {5} }}
going {{
  s = (s32[], {0}{1}, {0}{2}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(6)
  ROOT r = pred[] compare(i, end), direction=LT
}}
go {{
  s = (s32[], {0}{1}, {0}{2}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = {0}{1} get-tuple-element(s), index=1
  u = {0}{2} get-tuple-element(s), index=2
  three = s32[] constant(3)
  times = s32[] multiply(i, three)
  two = s32[] constant(2)
  before = s32[] subtract(times, two)
  base = s32[{3}] broadcast(before), dimensions={{}}
  steps = s32[{3}] iota(), iota_dimension=0
  at = s32[{3}] add(base, steps)
  zero = {0}[] constant({8})
  zeros = {0}{1} broadcast(zero), dimensions={{}}
  y = {0}{1} scatter({6}, at, u), to_apply=combine, {4}
  z = {0}{1} {7}
  v = {0}{2} add(u, u)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], {0}{1}, {0}{2}) tuple(next, z, v)
}}
ENTRY main {{
  x = {0}{1} parameter(0)
  u = {0}{2} parameter(1)
  i = s32[] constant(0)
  start = (s32[], {0}{1}, {0}{2}) tuple(i, x, u)
  ROOT done = (s32[], {0}{1}, {0}{2}) while(start), condition=going, body=go
}}
)",
                     array.substr(0, array.find('[')), array.substr(array.find('[')), updates, indices, form, combiner,
                     fresh ? "zeros" : "x", fresh ? "add(x, y)" : "copy(y)", array[0] == 'c' ? "(0, 0)" : "0");
}

TEST(NestedLoopTest, ScattersAreOfTheSameDispatch) {
  const std::string row =
      "update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0";
  const std::string rows =
      "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";
  const std::string part =
      "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0";
  const std::string elements =
      "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";
  for (const bool fresh : {false, true}) {
    SCOPED_TRACE(fresh ? "a fresh array" : "in place");
    for (const char* type : {"f32", "s32", "u8", "bf16", "f64", "s64", "c64"}) {
      SCOPED_TRACE(type);
      const std::string array = std::string(type) + "[9,5]";
      Check(Updates(array, "[5]", "1", row, "add(a, b)", fresh));
      // Products of complex numbers have a bound.
      Check(Updates(array, "[5]", "1", row, array[0] == 'c' ? "subtract(b, a)" : "multiply(b, b)", fresh));
      Check(Updates(array, "[4,5]", "4", rows, "add(a, b)", fresh));
      Check(Updates(std::string(type) + "[9]", "[3]", "1", part, "add(a, b)", fresh));
    }
    Check(Updates("f32[9]", "[4]", "4", elements, "subtract(a, b)", fresh));
    Check(Updates("s32[900]", "[300]", "300", elements + ", unique_indices=true", "add(a, b)", fresh));
  }
}

TEST(NestedLoopTest, AFreshArrayIsUpdatedInItsLoop) {
  std::string text = Updates("f32[40]", "[5]", "1",
                             "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
                             "index_vector_dim=0",
                             "add(a, b)", true);
  const size_t at = text.find("scatter(zeros, at, u), to_apply");
  text.replace(at, text.find('\n', at) - at, "dynamic-update-slice(zeros, u, times)");
  Check(text);
}

// Many arrays of a trip are one binding: with the state they are more than any of the drivers binds.
TEST(NestedLoopTest, ArraysOfATripShareABinding) {
  std::string body, last = "x";
  for (int k = 0; k < 40; ++k) {
    const std::string name = fmt::format("y{}", k);
    body += fmt::format("  back{1} = f32[65] reverse({0}), dimensions={{0}}\n", last, k);
    body += fmt::format("  sum{1} = f32[] reduce(back{1}, zero), dimensions={{0}}, to_apply=largest\n", last, k);
    body += fmt::format("  sums{0} = f32[65] broadcast(sum{0}), dimensions={{}}\n", k);
    body += fmt::format("  {} = f32[65] subtract(sums{}, {})\n", name, k, last);
    last = name;
  }
  for (int k = 0; k < 39; k += 2) {
    body += fmt::format("  all{0} = f32[65] maximum({1}, y{0})\n", k, last);
    last = fmt::format("all{}", k);
  }
  const std::string text = R"(HloModule many
largest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
going {
  s = (s32[], f32[65]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(3)
  ROOT r = pred[] compare(i, end), direction=LT
}
go {
  s = (s32[], f32[65]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[65] get-tuple-element(s), index=1
  zero = f32[] constant(0)
)" + body +
                           R"(  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[65]) tuple(next, )" +
                           last + R"()
}
ENTRY main {
  x = f32[65] parameter(0)
  i = s32[] constant(0)
  start = (s32[], f32[65]) tuple(i, x)
  ROOT done = (s32[], f32[65]) while(start), condition=going, body=go
}
)";
  Check(text);
  // Bundles hold for devices that bind at multiples of 256 bytes.
  for (const BindingMode mode : ModesToRun()) {
    const auto executable = DeviceClient(mode)->Compile(*ParseModule(text), {});
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const Step& step : (*executable)->plan().steps) {
      for (const Binding& binding : step.bindings) EXPECT_EQ(binding.slice.offset_bytes % 256, 0);
    }
  }
}

// As many as a chain of else would lie in one another.
// Leaves of many types and sizes, more than a device binds, each of which takes over its neighbour's last value.
std::string ManyLeaves(const std::string& condition) {
  const std::vector<std::string> types = {"f32[]", "pred[]", "f16[7]",   "s32[33]",
                                          "s64[]", "u8[5]",  "f32[300]", "bf16[]"};
  std::string state = "(s32[]", entry, start, body, next, results;
  for (int k = 0; k < 44; ++k) {
    const std::string type = types[static_cast<size_t>(k) % types.size()];
    state += ", " + type;
    entry += fmt::format("  p{0} = {1} parameter({0})\n", k, type);
    start += fmt::format(", p{}", k);
    body += fmt::format("  x{0} = {1} get-tuple-element(s), index={2}\n", k, type, k + 1);
    const int other = (k + 8) % 40;
    next += fmt::format("  y{0} = {1} {2}(x{0}, x{3})\n", k, type,
                        type[0] == 'p'                     ? "xor"
                        : type[0] == 'f' || type[0] == 'b' ? "maximum"
                                                           : "add",
                        k < 40 ? other : k - 40);
    results += fmt::format(", y{}", k);
  }
  state += ")";
  return fmt::format(R"(HloModule leaves
going {{
  s = {0} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(30)
  less = pred[] compare(i, end), direction=LT
  x = f32[] get-tuple-element(s), index=1
  most = f32[] constant(100)
  low = pred[] compare(x, most), direction=LT
  ROOT r = {1}
}}
go {{
  s = {0} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
{2}  ROOT r = {0} tuple(next{3})
}}
ENTRY main {{
{4}  i = s32[] constant(0)
  start = {0} tuple(i{5})
  ROOT done = {0} while(start), condition=going, body=go
}}
)",
                     state, condition, body + next, results, entry, start);
}

// Some GPUs bind a million: they are taken to bind no more than others.
TEST(NestedLoopTest, StateOfMoreBuffersThanADeviceBindsIsPacked) {
  auto device = OpenTestDevice(TestOptions(BindingMode::kDescriptors), {}, [](DeviceFacts& facts) {
    facts.max_storage_buffers = std::min(facts.max_storage_buffers, 32u);
  });
  ASSERT_TRUE(device.ok()) << device.status().message();
  const auto client = MakeTestClient(*device);
  for (const char* condition : {"pred[] copy(less)", "pred[] and(less, low)"}) {
    const std::string text = ManyLeaves(condition);
    Check(text, -1);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    const std::vector<Literal> arguments = RandomArguments(*module, 3);
    const auto expected = RunOnCpu(*module, arguments), value = RunOnClient(*client, *module, arguments);
    ASSERT_TRUE(expected && value);
    ExpectAgreement(*value, *expected, Exactly(-1), "packed");
    EXPECT_THAT(PlanOf(*client, text), Not(HasSubstr("not one dispatch")));
    EXPECT_THAT(PlanOf(*client, text), HasSubstr("done (unpacks its state)"));
  }
}

TEST(NestedLoopTest, ManyBranches) {
  std::string branches, names;
  for (int b = 0; b < 120; ++b) {
    branches += fmt::format(
        "b{0} {{ x = s32[11] parameter(0)  k = s32[] constant({0})  ks = s32[11] broadcast(k), dimensions={{}}\n"
        "  back = s32[11] reverse(x), dimensions={{0}}  ROOT r = s32[11] add(back, ks) }}\n",
        b);
    names += fmt::format("{}b{}", b > 0 ? ", " : "", b);
  }
  std::string operands;
  for (int b = 0; b < 120; ++b) operands += ", x";
  Check("HloModule many\n" + branches + R"(going {
  s = (s32[], s32[11]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(125)
  ROOT r = pred[] compare(i, end), direction=LT
}
go {
  s = (s32[], s32[11]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[11] get-tuple-element(s), index=1
  y = s32[11] conditional(i)" +
        operands + "), branch_computations={" + names + R"(}
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], s32[11]) tuple(next, y)
}
ENTRY main {
  x = s32[11] parameter(0)
  i = s32[] constant(-5)
  start = (s32[], s32[11]) tuple(i, x)
  ROOT done = (s32[], s32[11]) while(start), condition=going, body=go
}
)");
}

TEST(NestedLoopTest, OneTripIsNoLoop) {
  const std::string text = R"(HloModule once
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
going {
  s = (s32[], f32[33]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(4)
  ROOT r = pred[] compare(i, end), direction=LT
}
go {
  s = (s32[], f32[33]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[33] get-tuple-element(s), index=1
  y = f32[33] sort(x), dimensions={0}, to_apply=less
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[33]) tuple(next, y)
}
ENTRY main {
  x = f32[33] parameter(0)
  i = s32[] constant(3)
  start = (s32[], f32[33]) tuple(i, x)
  ROOT done = (s32[], f32[33]) while(start), condition=going, body=go
}
)";
  Check(text, -1);
  EXPECT_THAT(PlanOf(text), Not(HasSubstr("while")));
}

TEST(NestedLoopTest, ThePlanSaysWhyALoopIsNotOneDispatch) {
  std::string text = Collatz(5);
  const size_t at = text.find("  kept = ");
  text.insert(at,
              "  wave = c64[5] convert(all)\n  nothing = c64[] constant((0, 0))\n"
              "  long = c64[262144] pad(wave, nothing), padding=0_262139\n"
              "  whole = c64[262144] fft(long), fft_type=FFT, fft_length={262144}\n"
              "  waves = c64[5] slice(whole), slice={[0:5]}\n"
              "  parts = f32[5] real(waves)\n  other = u32[5] convert(parts)\n  mixed = u32[5] add(other, all)\n");
  text.replace(text.find("dynamic-update-slice(all"), 24, "dynamic-update-slice(mixed");
  EXPECT_THAT(PlanOf(text), HasSubstr(" operations is more than the "));
}

}  // namespace nested_loop_test
}  // namespace VXLA_NAMESPACE::testing
