// Whiles whose rows never meet, which several workgroups share out, and whiles whose rows do meet.
#include <gmock/gmock.h>

#include <array>

#include "backend/cpu/reference/evaluator.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace loop_groups_test {

using ::testing::HasSubstr;
using ::testing::Not;

// A counted loop over arrays, all of which it returns, and arguments that it only reads.
struct Loop {
  int trips = 5;
  std::vector<std::string> state, operands;  // shapes; s0, s1 ... and o0, o1 ... in the body, beside the counter i
  std::string body;                          // n0, n1 ... are what the state is next
  std::string functions = {};

  std::string Text() const {
    std::string tuple = "(s32[]", entry, names = "zero", body_text, next = "next";
    const auto leaf = [&](const std::string& shape, const std::string& name, size_t number) {
      tuple += ", " + shape;
      entry += fmt::format("  {} = {} parameter({})\n", name, shape, number);
      names += ", " + name;
      body_text += fmt::format("  {} = {} get-tuple-element(s), index={}\n", name, shape, number + 1);
    };
    for (size_t k = 0; k < state.size(); ++k) leaf(state[k], fmt::format("s{}", k), k);
    for (size_t k = 0; k < operands.size(); ++k) leaf(operands[k], fmt::format("o{}", k), state.size() + k);
    for (size_t k = 0; k < state.size(); ++k) next += fmt::format(", n{}", k);
    for (size_t k = 0; k < operands.size(); ++k) next += fmt::format(", o{}", k);
    tuple += ")";
    return fmt::format(
        "HloModule loop\n{0}body {{\n  s = {1} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  next = s32[] add(i, one)\n{2}{3}"
        "  ROOT r = {1} tuple({4})\n}}\n"
        "condition {{\n  s = {1} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant({5})\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n"
        "ENTRY main {{\n{6}  zero = s32[] constant(0)\n  start = {1} tuple({7})\n"
        "  ROOT loop = {1} while(start), condition=condition, body=body\n}}\n",
        functions, tuple, body_text, body, next, trips, entry, names);
  }
};

// The workgroups of the loop's dispatch; 0: it is none.
int GroupsOf(const Plan& plan) {
  const std::string text = ToText(plan), before = " groups ";
  const size_t loop = text.find("dispatch loop (while)"), at = text.find(before, loop);
  return loop == std::string::npos || at == std::string::npos ? 0 : std::stoi(text.substr(at + before.size()));
}

// On each driver as it is, and taken for a GPU that does not say how many units it has, where `groups` workgroups run
// the loop; exact where nothing rounds.
void Check(const Loop& loop, int groups, const RunOptions& options = {}) {
  const std::string text = loop.Text();
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunBoth(text, arguments, options);
  ASSERT_TRUE(expected);
  for (const BindingMode mode : {BindingMode::kDescriptors, BindingMode::kAddresses}) {
    const auto client = GpuClientOfUnits(mode, 0);
    ASSERT_NE(client, nullptr);
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ(GroupsOf((*executable)->plan()), groups);
    ExpectOnGpu(*client, *module, arguments, options, 100, *expected);
  }
}

RunOptions Exact() {
  RunOptions options;
  options.tolerance = Tolerance{};
  return options;
}
RunOptions Within(double relative, double absolute) {
  RunOptions options;
  options.tolerance = Tolerance{.rtol = relative, .atol = absolute};
  return options;
}

// h = h u ^ x[i], of integers, whose results are stacked.
Loop Network(int rows, int columns, int trips) {
  Loop loop;
  loop.trips = trips;
  const std::string h = fmt::format("s32[{},{}]", rows, columns), one = fmt::format("1,{},{}", rows, columns);
  loop.state = {h, fmt::format("s32[{},{},{}]", trips, rows, columns)};
  loop.operands = {fmt::format("s32[{},{},{}]", trips, rows, columns), fmt::format("s32[{0},{0}]", columns)};
  loop.body = fmt::format(R"(  xs = s32[{1}] dynamic-slice(o0, i, zero, zero), dynamic_slice_sizes={{{1}}}
  x = {0} reshape(xs)
  d = {0} dot(s0, o1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  n0 = {0} xor(d, x)
  ns = s32[{1}] reshape(n0)
  n1 = s32[{2},{3},{4}] dynamic-update-slice(s1, ns, i, zero, zero)
)",
                          h, one, trips, rows, columns);
  return loop;
}

TEST(LoopGroupsTest, SequencesOfANetwork) {
  Check(Network(16, 128, 20), 8, Exact());
  Check(Network(7, 192, 17), 7, Exact());
  Check(Network(15, 160, 20), 5, Exact());
  Check(Network(15, 32, 20), 1, Exact());
  Check(Network(1, 128, 20), 1, Exact());
}

// More trips than a dispatch makes where a driver counts them: the next one begins with the scalars that this one ended
// with, which a step of its own hands on.
TEST(LoopGroupsTest, DispatchesGoOn) {
  const Loop loop = Network(16, 128, 700);
  Check(loop, 8, Exact());
  const auto client = GpuClientOfUnits(BindingMode::kDescriptors, 0);
  ASSERT_NE(client, nullptr);
  const bool goes_on = client->device().facts().quirks.loop_iteration_limit != 0;
  const auto executable = client->Compile(*ParseModule(loop.Text()));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const auto scalars = HasSubstr("(its scalars)");
  if (goes_on) {
    EXPECT_THAT(ToText((*executable)->plan()), scalars);
  } else {
    EXPECT_THAT(ToText((*executable)->plan()), Not(scalars));
  }
}

// What a row reads of its own: its mean, other columns, a cache of earlier trips, a table, a mask that all rows have in
// common.
TEST(LoopGroupsTest, NormalizedRowsWithACache) {
  Loop loop;
  loop.trips = 6;
  loop.state = {"f32[16,256]", "f32[6,16,256]", "f32[16,1]"};
  loop.operands = {"f32[256]", "f32[256,256]", "s32[16]"};
  loop.functions = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  loop.body = R"(  f0 = f32[] constant(0)  scale = f32[] constant(0.00390625)  small = f32[] constant(0.0625)
  total = f32[16] reduce(s0, f0), dimensions={1}, to_apply=sum
  scales = f32[16] broadcast(scale), dimensions={}
  mean = f32[16] multiply(total, scales)
  means = f32[16,256] broadcast(mean), dimensions={0}
  centred = f32[16,256] subtract(s0, means)
  d = f32[16,256] dot(centred, o1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  smalls = f32[16,256] broadcast(small), dimensions={}
  scaled = f32[16,256] multiply(d, smalls)
  gain = f32[16,256] broadcast(o0), dimensions={1}
  shifted = f32[16,256] add(scaled, gain)
  t = f32[16,256] tanh(shifted)
  turned = f32[16,256] reverse(t), dimensions={1}
  two = s32[] constant(2)  before = s32[] subtract(i, two)
  old = f32[1,16,256] dynamic-slice(s1, before, zero, zero), dynamic_slice_sizes={1,16,256}
  olds = f32[16,256] reshape(old)
  mixed = f32[16,256] add(turned, olds)
  ii = s32[16] broadcast(i), dimensions={}
  live = pred[16] compare(o2, ii), direction=GE
  lives = pred[16,256] broadcast(live), dimensions={0}
  n0 = f32[16,256] select(lives, mixed, s0)
  ns = f32[1,16,256] reshape(n0)
  n1 = f32[6,16,256] dynamic-update-slice(s1, ns, i, zero, zero)
  m1 = f32[16,1] reshape(mean)
  n2 = f32[16,1] add(s2, m1)
)";
  Check(loop, 8, Within(1e-4, 1e-4));
}

// Two states that change places, of two types; a batch of products.
TEST(LoopGroupsTest, StatesChangePlaces) {
  Loop loop;
  loop.state = {"s32[8,32,64]", "s32[8,32,64]", "u8[8,4096]"};
  loop.operands = {"s32[8,64,64]"};
  loop.body =
      R"(  d = s32[8,32,64] dot(s0, o0), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  n1 = s32[8,32,64] add(d, s1)
  n0 = s32[8,32,64] copy(s1)
  three = u8[] constant(3)  threes = u8[8,4096] broadcast(three), dimensions={}
  p = u8[8,4096] multiply(s2, threes)
  n2 = u8[8,4096] add(p, threes)
)";
  Check(loop, 8, Exact());
}

// As few workgroups as have a lane for each element.
int GroupsInRegisters(int count) {
  const auto client = GpuClientOfUnits(BindingMode::kDescriptors, 0);
  const int lanes = std::min(512, static_cast<int>(client->device().facts().max_workgroup_invocations));
  return (count + lanes - 1) / lanes;
}

// Elements are rows as well; what fits into the lanes stays in their registers.
TEST(LoopGroupsTest, EveryElementByItself) {
  for (const char* type : {"s32", "u16", "s8", "s64", "u64"}) {
    SCOPED_TRACE(type);
    Loop loop;
    loop.trips = 40;
    for (const int count : {3000, 16384, 100000, 10007}) {
      const std::string shape = fmt::format("{}[{}]", type, count);
      loop.state = {shape, shape};
      loop.operands = {shape};
      loop.body = fmt::format(R"(  c = {1}[] constant(5)  cs = {0} broadcast(c), dimensions={{}}
  a = {0} multiply(s0, o0)  b = {0} add(a, cs)  d = {0} xor(b, s1)  e = {0} multiply(d, d)
  n0 = {0} add(e, s0)  n1 = {0} subtract(s1, b)
)",
                              shape, type);
      Check(loop, GroupsInRegisters(count), Exact());
    }
  }
}

// Ops that leave rows where they are, and a type of another width.
TEST(LoopGroupsTest, RowsThatMoveInside) {
  const auto check = [](const std::string& widened, int groups) {
    Loop loop;
    loop.trips = 12;
    loop.state = {"s32[16,512]", "u16[16,1024]"};
    loop.operands = {"s32[512,512]", "s32[16,1,512]"};
    loop.body = R"(  d = s32[16,512] dot(s0, o0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  p = s32[16,512] pad(d, zero), padding=0_0x3_-3
  v = s32[16,512] reverse(p), dimensions={1}
  a = s32[16,100] slice(v), slice={[0:16], [0:100]}
  b = s32[16,412] slice(v), slice={[0:16], [100:512]}
  c = s32[16,512] concatenate(b, a), dimensions={1}
  t = s32[512,16] transpose(c), dimensions={1,0}
  u = s32[16,512] transpose(t), dimensions={1,0}
  o = s32[16,512] reshape(o1)
  n0 = s32[16,512] xor(u, o)
  )" + widened + "  n1 = u16[16,1024] add(w, s1)\n";
    Check(loop, groups, Exact());
  };
  check("  h = u16[16,512] convert(u)\n  w = u16[16,1024] concatenate(h, h), dimensions={1}\n", 8);
  check("  h = u16[16,512,2] bitcast-convert(u)\n  w = u16[16,1024] reshape(h)\n", 8);
}

// Lanes that read what others have written under another width wait for them.
TEST(LoopGroupsTest, AnotherWidth) {
  Loop loop;
  loop.trips = 12;
  loop.state = {"s32[512]", "u16[1024]"};
  loop.operands = {"s32[512]"};
  loop.body = R"(  u = s32[512] multiply(s0, o0)
  h = u16[512,2] bitcast-convert(u)
  w = u16[1024] reshape(h)
  n0 = s32[512] xor(u, o0)
  n1 = u16[1024] add(w, s1)
)";
  Check(loop, 1, Exact());
  // The state is the bits of one value, and what those of another were comes back.
  loop.body = R"(  u = s32[512] multiply(s0, o0)
  h = u16[512,2] bitcast-convert(u)
  n1 = u16[1024] reshape(h)
  b = u16[512,2] reshape(s1)
  n0 = s32[512] bitcast-convert(b)
)";
  Check(loop, 1, Exact());
}

// Rows that end in the middle of a word.
TEST(LoopGroupsTest, RowsOfBytes) {
  for (const char* type : {"u8", "s16", "pred", "bf16"}) {
    SCOPED_TRACE(type);
    Loop loop;
    loop.trips = 40;
    const std::string shape = fmt::format("{}[7,20003]", type), ints = "s32[7,20003]";
    loop.state = {shape, ints};
    loop.operands = {shape};
    loop.body = fmt::format(
        "  turned = {0} reverse(s0), dimensions={{1}}  a = {1} convert(turned)  b = {1} convert(o0)  c = {1} add(a, b) "
        " d = {1} add(c, s1)  m = s32[] constant(3)\n"
        "  ms = {1} broadcast(m), dimensions={{}}  e = {1} and(d, ms)  n0 = {0} convert(e)  n1 = {1} xor(d, c)\n",
        shape, ints);
    Check(loop, 7, Exact());
  }
}

TEST(LoopGroupsTest, OfEveryFloatType) {
  for (const char* type : {"f32", "f16", "bf16", "f64", "c64"}) {
    SCOPED_TRACE(type);
    Loop loop;
    loop.trips = 40;
    const std::string shape = fmt::format("{}[24,4096]", type);
    loop.state = {shape};
    loop.operands = {shape};
    const bool real = *type != 'c';  // tanh has poles elsewhere
    loop.body = fmt::format(
        "  h = {1}[] constant({2})  hs = {0} broadcast(h), dimensions={{}}  t = {0} {3}(s0)\n"
        "  a = {0} multiply(t, hs)  n0 = {0} add(a, o0)\n",
        shape, type, real ? "0.5" : "(0.5, 0)", real ? "tanh" : "negate");
    const bool wide = std::string_view(type).starts_with("f64"), narrow = std::string_view(type).ends_with("f16");
    Check(loop, GroupsInRegisters(24 * 4096),
          wide     ? Within(1e-10, 1e-10)
          : narrow ? Within(0.1, 0.1)
                   : Within(1e-3, 1e-3));
  }
}

// More arrays than a device of few bindings takes: they are moved before and after.
TEST(LoopGroupsTest, ManyArrays) {
  Loop loop;
  for (int k = 0; k < 40; ++k) {
    loop.state.push_back("s32[16,64]");
    loop.body += fmt::format("  m{0} = s32[16,64] multiply(s{0}, s{1})\n  n{0} = s32[16,64] add(m{0}, s{2})\n", k,
                             (k + 1) % 40, (k + 7) % 40);
  }
  Loop heavy = loop;
  heavy.state.push_back("s32[16,256]");
  heavy.operands = {"s32[256,256]"};
  heavy.body += "  n40 = s32[16,256] dot(s40, o0), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  Check(heavy, 8, Exact());
}

// Rows meet: a sum of all of them, neighbours, a scalar, a product along them, an update of some, another order.
TEST(LoopGroupsTest, RowsThatMeetStayTogether) {
  const std::string common = "  d = s32[16,256] dot(s0, o0), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const auto check = [&](const std::string& body, std::vector<std::string> more = {}) {
    SCOPED_TRACE(body);
    Loop loop;
    loop.state = {"s32[16,256]"};
    loop.state.insert(loop.state.end(), more.begin(), more.end());
    loop.operands = {"s32[256,256]", "s32[16,16]"};
    loop.functions = "sum { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }\n";
    loop.body = common + body;
    Check(loop, 1, Exact());
  };
  check(
      "  all = s32[256] reduce(d, zero), dimensions={0}, to_apply=sum\n"
      "  alls = s32[16,256] broadcast(all), dimensions={1}\n  n0 = s32[16,256] add(d, alls)\n");
  check("  n0 = s32[16,256] reverse(d), dimensions={0}\n");
  check("  n0 = s32[16,256] pad(d, zero), padding=1_-1x0_0\n");
  check(
      "  a = s32[1,256] slice(d), slice={[0:1], [0:256]}\n  b = s32[15,256] slice(d), slice={[1:16], [0:256]}\n"
      "  n0 = s32[16,256] concatenate(b, a), dimensions={0}\n");
  check(
      "  n0 = s32[16,256] add(d, s0)\n  all = s32[] reduce(d, zero), dimensions={0,1}, to_apply=sum\n"
      "  n1 = s32[] add(s1, all)\n",
      {"s32[]"});
  check("  n0 = s32[16,256] dot(o1, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  check(
      "  a = s32[4,256] slice(d), slice={[0:4], [0:256]}\n"
      "  n0 = s32[16,256] dynamic-update-slice(d, a, i, zero)\n");
  check(
      "  v = s32[] constant(2)  a = s32[8,256] dynamic-slice(d, v, zero), dynamic_slice_sizes={8,256}\n"
      "  n0 = s32[16,256] concatenate(a, a), dimensions={0}\n");
  check("  t = s32[256,16] transpose(d), dimensions={1,0}\n  n0 = s32[16,256] reshape(t)\n");
  check(
      "  at = s32[256,16] transpose(d), dimensions={1,0}\n  n0 = s32[16,256] add(d, s0)\n"
      "  n1 = s32[256,16] add(at, s1)\n",
      {"s32[256,16]"});
}

// The end is not known before the loop runs.
TEST(LoopGroupsTest, LoopsThatEndByTheirDataStayTogether) {
  std::string text = Network(16, 64, 5).Text();
  const std::string from = "n = s32[] constant(5)\n  ROOT c = pred[] compare(i, n), direction=LT";
  ASSERT_NE(text.find(from), std::string::npos);
  const std::string state = "(s32[], s32[16,64], s32[5,16,64], s32[5,16,64], s32[64,64])";
  text.replace(text.find(from), from.size(),
               "h = s32[16,64] get-tuple-element(s), index=1\n  n = s32[] constant(5)\n"
               "  e = s32[1,1] slice(h), slice={[0:1], [0:1]}\n  v = s32[] reshape(e)\n  seven = s32[] constant(7)\n"
               "  odd = s32[] and(v, seven)\n  j = s32[] add(i, odd)\n  ROOT c = pred[] compare(j, n), direction=LT");
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunBoth(text, arguments, Exact());
  const auto client = GpuClientOfUnits(BindingMode::kDescriptors, 0);
  ASSERT_NE(client, nullptr);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ(GroupsOf((*executable)->plan()), 1);
  ExpectOnGpu(*client, *module, arguments, Exact(), 100, *expected);
}

constexpr const char* kReducers = R"(
any { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }
all { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(b, a) }
)";

// Whiles whose elements meet in the condition alone, as jax.vmap makes them of a while, go in chunks of trips. Exact,
// on each driver as it is and taken for a GPU of many units.
void CheckChunks(const std::string& text, const std::vector<Literal>& arguments, bool in_chunks = true) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.tolerance = Tolerance{};
  const auto expected = RunBoth(text, arguments, options);
  ASSERT_TRUE(expected);
  for (const BindingMode mode : {BindingMode::kDescriptors, BindingMode::kAddresses}) {
    const auto client = GpuClientOfUnits(mode, 128);
    ASSERT_NE(client, nullptr);
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const std::string plan = ToText((*executable)->plan());
    if (in_chunks) {
      EXPECT_THAT(plan, HasSubstr("trips of a chunk"));
    } else {
      EXPECT_THAT(plan, Not(HasSubstr("trips of a chunk")));
    }
    ExpectOnGpu(*client, *module, arguments, options, 100, *expected);
  }
}

// Elements count down from what they begin with, the largest from `most`.
std::vector<Literal> From(int64_t count, int most) {
  Literal values(Shape(ElementType::kS32, {count}));
  for (int64_t i = 0; i < count; ++i) values.SetInt(i, most == 0 ? 0 : i * 7919 % most);
  values.SetInt(count / 3, most);
  std::vector<Literal> arguments;
  arguments.push_back(std::move(values));
  return arguments;
}

// As many trips as the largest element wants, and what each element and a scalar make of their own.
std::string Countdown(int64_t count, const std::string& condition = "", const std::string& next = "") {
  const std::string s32 = fmt::format("s32[{}]", count), pred = fmt::format("pred[{}]", count);
  const std::string state = fmt::format("({0}, {0}, s32[], pred[])", s32);
  const std::string parts = fmt::format(R"(  s = {0} parameter(0)
  x = {1} get-tuple-element(s), index=0
  y = {1} get-tuple-element(s), index=1
  i = s32[] get-tuple-element(s), index=2
  c = pred[] get-tuple-element(s), index=3
  zero = s32[] constant(0)  one = s32[] constant(1)  no = pred[] constant(false)  yes = pred[] constant(true)
  zeros = {1} broadcast(zero), dimensions={{}}
  left = {2} compare(x, zeros), direction=GT
)",
                                        state, s32, pred);
  return fmt::format(
      R"(HloModule countdown
{0}
body {{
{1}  ones = {2} broadcast(one), dimensions={{}}
  less = {2} subtract(x, ones)
  nx = {2} select(left, less, x)
  is = {2} broadcast(i), dimensions={{}}
  three = s32[] constant(3)  threes = {2} broadcast(three), dimensions={{}}
  y3 = {2} multiply(y, threes)  y4 = {2} xor(y3, is)
  ny = {2} select(left, y4, y)
  ni = s32[] add(i, one)
{3}  ROOT r = {4} tuple(nx, ny, ni, nc)
}}
condition {{
{1}{5}}}
ENTRY main {{
  x = {2} parameter(0)
  zero = s32[] constant(0)
  yes = pred[] constant(true)
  start = {4} tuple(x, x, zero, yes)
  ROOT loop = {4} while(start), condition=condition, body=body
}}
)",
      kReducers, parts, s32, next.empty() ? "  nc = pred[] copy(c)\n" : next, state,
      condition.empty() ? "  ROOT go = pred[] reduce(left, no), dimensions={0}, to_apply=any\n" : condition);
}

// The end lies before the first trip, within chunks of 32, 64 and 128 trips and between them.
TEST(LoopGroupsTest, EndsWhereTheLastElementDoes) {
  const auto module = ParseModule(Countdown(4099));
  const auto client = GpuClientOfUnits(BindingMode::kAddresses, 128);
  ASSERT_NE(client, nullptr);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (const int trips : {0, 1, 31, 32, 33, 95, 96, 97, 301}) {
    SCOPED_TRACE(trips);
    const std::vector<Literal> arguments = From(4099, trips);
    const std::array<const Literal*, 1> pointers{&arguments[0]};
    const auto expected = Evaluate(*module, pointers);
    const auto result = (*executable)->Run(pointers);
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status().message();
    ExpectAgreement(*result, *expected, {.tolerance = Tolerance{}}, "chunks");
  }
  CheckChunks(Countdown(4099), From(4099, 70));
}

// What the end depends on beside: a count, whether all have come far enough, a reduction of the trip before.
TEST(LoopGroupsTest, ConditionsOfSeveralReductions) {
  CheckChunks(Countdown(10007, R"(  most = s32[] constant(45)  few = pred[] compare(i, most), direction=LT
  fives = s32[10007] broadcast(i), dimensions={}
  far = pred[10007] compare(y, fives), direction=NE
  every = pred[] reduce(far, yes), dimensions={0}, to_apply=all
  some = pred[] reduce(left, no), dimensions={0}, to_apply=any
  both = pred[] and(some, few)
  not_every = pred[] not(every)
  ROOT go = pred[] or(both, not_every)
)"),
              From(10007, 60));
  CheckChunks(Countdown(2048, "  ROOT go = pred[] and(c, c)\n",
                        "  nc = pred[] reduce(left, no), dimensions={0}, to_apply=any\n"),
              From(2048, 40));
}

// Done elements as preds, entries of a table, for all and for each, trips of an inner loop, within a loop around that
// is no dispatch.
TEST(LoopGroupsTest, StatesOfOtherTypesInALoopAround) {
  CheckChunks(fmt::format(R"(HloModule walks
{}
step {{
  t = (s32[], u8[1500], s32[]) parameter(0)
  k = s32[] get-tuple-element(t), index=0
  b = u8[1500] get-tuple-element(t), index=1
  one = s32[] constant(1)
  nk = s32[] add(k, one)
  limit = s32[] get-tuple-element(t), index=2
  ks = s32[1500] broadcast(k), dimensions={{}}
  k8 = u8[1500] convert(ks)
  nb = u8[1500] add(b, k8)
  ROOT r = (s32[], u8[1500], s32[]) tuple(nk, nb, limit)
}}
few {{
  t = (s32[], u8[1500], s32[]) parameter(0)
  k = s32[] get-tuple-element(t), index=0
  dozen = s32[] constant(12)
  ROOT c = pred[] compare(k, dozen), direction=LT
}}
body {{
  s = (pred[1500], u8[1500], u8[997], s32[]) parameter(0)
  done = pred[1500] get-tuple-element(s), index=0
  at = u8[1500] get-tuple-element(s), index=1
  table = u8[997] get-tuple-element(s), index=2
  i = s32[] get-tuple-element(s), index=3
  zero = s32[] constant(0)  one = s32[] constant(1)
  start = (s32[], u8[1500], s32[]) tuple(zero, at, i)
  inner = (s32[], u8[1500], s32[]) while(start), condition=few, body=step
  moved = u8[1500] get-tuple-element(inner), index=1
  entry = u8[1] dynamic-slice(table, i), dynamic_slice_sizes={{1}}
  one_entry = u8[] reshape(entry)  entries = u8[1500] broadcast(one_entry), dimensions={{}}
  five = u8[] constant(5)  fives = u8[1500] broadcast(five), dimensions={{}}
  scaled = u8[1500] multiply(moved, fives)  mixed = u8[1500] xor(scaled, entries)
  places = s32[1500] convert(mixed)  column = s32[1500,1] broadcast(places), dimensions={{0}}
  read = u8[1500] gather(table, column), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
    index_vector_dim=1, slice_sizes={{1}}
  next = u8[1500] select(done, at, read)
  limit = u8[] constant(9)  limits = u8[1500] broadcast(limit), dimensions={{}}
  small = pred[1500] compare(next, limits), direction=LT
  ndone = pred[1500] or(done, small)
  ni = s32[] add(i, one)
  ROOT r = (pred[1500], u8[1500], u8[997], s32[]) tuple(ndone, next, table, ni)
}}
condition {{
  s = (pred[1500], u8[1500], u8[997], s32[]) parameter(0)
  done = pred[1500] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=3
  yes = pred[] constant(true)  most = s32[] constant(75)
  over = pred[] reduce(done, yes), dimensions={{0}}, to_apply=all
  open = pred[] not(over)
  early = pred[] compare(i, most), direction=LT
  ROOT go = pred[] and(open, early)
}}
outer_body {{
  s = (s32[], u8[1500], u8[997], s32[], s32[160,160]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  at = u8[1500] get-tuple-element(s), index=1
  table = u8[997] get-tuple-element(s), index=2
  total = s32[] get-tuple-element(s), index=3
  m = s32[160,160] get-tuple-element(s), index=4
  square = s32[160,160] dot(m, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  no = pred[] constant(false)  nos = pred[1500] broadcast(no), dimensions={{}}
  zero = s32[] constant(0)  one = s32[] constant(1)
  start = (pred[1500], u8[1500], u8[997], s32[]) tuple(nos, at, table, zero)
  loop = (pred[1500], u8[1500], u8[997], s32[]) while(start), condition=condition, body=body
  ends = u8[1500] get-tuple-element(loop), index=1
  trips = s32[] get-tuple-element(loop), index=3
  more = s32[] add(total, trips)
  turned = u8[1500] reverse(ends), dimensions={{0}}
  n8 = u8[] convert(n)  ns = u8[1500] broadcast(n8), dimensions={{}}
  shifted = u8[1500] add(turned, ns)
  nn = s32[] add(n, one)
  ROOT r = (s32[], u8[1500], u8[997], s32[], s32[160,160]) tuple(nn, shifted, table, more, square)
}}
outer_condition {{
  s = (s32[], u8[1500], u8[997], s32[], s32[160,160]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  most = s32[] constant(3)
  ROOT c = pred[] compare(n, most), direction=LT
}}
ENTRY main {{
  at = u8[1500] parameter(0)
  table = u8[997] parameter(1)
  m = s32[160,160] iota(), iota_dimension=1
  zero = s32[] constant(0)
  start = (s32[], u8[1500], u8[997], s32[], s32[160,160]) tuple(zero, at, table, zero, m)
  ROOT loop = (s32[], u8[1500], u8[997], s32[], s32[160,160]) while(start), condition=outer_condition, body=outer_body
}}
)",
                          kReducers),
              [] {
                std::vector<Literal> arguments;
                for (const int64_t count : {1500, 997}) {
                  Literal& bytes = arguments.emplace_back(Shape(ElementType::kU8, {count}));
                  for (int64_t i = 0; i < count; ++i) bytes.SetInt(i, (i * i * 31 + 17 * i + 11) % 256);
                }
                return arguments;
              }());
}

// Rows of which some elements depend on others: what chunks go back to lies in memory.
TEST(LoopGroupsTest, ChunksOfRows) {
  CheckChunks(fmt::format(R"(HloModule rows
{}
sum {{ a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }}
body {{
  s = (s32[2010,3], s32[2010], s32[], s32[3,3]) parameter(0)
  v = s32[2010,3] get-tuple-element(s), index=0
  n = s32[2010] get-tuple-element(s), index=1
  i = s32[] get-tuple-element(s), index=2
  m = s32[3,3] get-tuple-element(s), index=3
  zero = s32[] constant(0)  one = s32[] constant(1)
  total = s32[2010] reduce(v, zero), dimensions={{1}}, to_apply=sum
  thirteen = s32[] constant(13)  thirteens = s32[2010] broadcast(thirteen), dimensions={{}}
  rest = s32[2010] remainder(total, thirteens)
  zeros = s32[2010] broadcast(zero), dimensions={{}}
  open = pred[2010] compare(rest, zeros), direction=NE
  opens = pred[2010,3] broadcast(open), dimensions={{0}}
  d = s32[2010,3] dot(v, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  turned = s32[2010,3] reverse(d), dimensions={{1}}
  is = s32[2010,3] broadcast(i), dimensions={{}}
  mixed = s32[2010,3] add(turned, is)
  mask = s32[] constant(1023)  masks = s32[2010,3] broadcast(mask), dimensions={{}}
  masked = s32[2010,3] and(mixed, masks)
  count = s32[2010,1] broadcast(n), dimensions={{0}}
  row = s32[2010,3] gather(m, count), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
    index_vector_dim=1, slice_sizes={{1,3}}
  small = s32[2010,3] xor(masked, row)
  nv = s32[2010,3] select(opens, small, v)
  more = s32[2010] convert(open)
  nn = s32[2010] add(n, more)
  ni = s32[] add(i, one)
  ROOT r = (s32[2010,3], s32[2010], s32[], s32[3,3]) tuple(nv, nn, ni, m)
}}
condition {{
  s = (s32[2010,3], s32[2010], s32[], s32[3,3]) parameter(0)
  v = s32[2010,3] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=2
  zero = s32[] constant(0)  no = pred[] constant(false)  most = s32[] constant(78)
  total = s32[2010] reduce(v, zero), dimensions={{1}}, to_apply=sum
  thirteen = s32[] constant(13)  thirteens = s32[2010] broadcast(thirteen), dimensions={{}}
  rest = s32[2010] remainder(total, thirteens)
  zeros = s32[2010] broadcast(zero), dimensions={{}}
  open = pred[2010] compare(rest, zeros), direction=NE
  some = pred[] reduce(open, no), dimensions={{0}}, to_apply=any
  early = pred[] compare(i, most), direction=LT
  ROOT go = pred[] and(some, early)
}}
ENTRY main {{
  v = s32[2010,3] parameter(0)
  m = s32[3,3] parameter(1)
  zero = s32[] constant(0)  zeros = s32[2010] broadcast(zero), dimensions={{}}
  start = (s32[2010,3], s32[2010], s32[], s32[3,3]) tuple(v, zeros, zero, m)
  ROOT loop = (s32[2010,3], s32[2010], s32[], s32[3,3]) while(start), condition=condition, body=body
}}
)",
                          kReducers),
              [] {
                std::vector<Literal> arguments;
                for (const int64_t rows : {2010, 3}) {
                  Literal& values = arguments.emplace_back(Shape(ElementType::kS32, {rows, 3}));
                  for (int64_t i = 0; i < 3 * rows; ++i) values.SetInt(i, (i * i * 31 + 17 * i + 5) % 251);
                }
                return arguments;
              }());
}

// An element depends on what all elements say, or on another one.
TEST(LoopGroupsTest, ElementsThatMeetGoTripByTrip) {
  const std::string depends =
      "  cs = pred[3001] broadcast(c), dimensions={}  mixed = s32[3001] select(cs, ny, nx)\n"
      "  nc = pred[] reduce(left, no), dimensions={0}, to_apply=any\n";
  std::string text = Countdown(3001, "", depends);
  text.replace(text.find("tuple(nx, ny, ni, nc)"), 21, "tuple(nx, mixed, ni, nc)");
  CheckChunks(text, From(3001, 40), false);
  text = Countdown(3001);
  text.replace(text.find("less = s32[3001] subtract(x, ones)"), 34,
               "rev = s32[3001] reverse(x), dimensions={0}  two = s32[3001] subtract(x, ones)  "
               "less = s32[3001] minimum(two, rev)");
  CheckChunks(text, From(3001, 40), false);
}

}  // namespace loop_groups_test
}  // namespace VXLA_NAMESPACE::testing
