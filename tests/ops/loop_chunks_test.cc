// Whiles whose elements meet in the condition alone, as jax.vmap makes them of a while: chunks of trips.
#include <gmock/gmock.h>

#include <array>

#include "backend/cpu/reference/evaluator.h"
#include "scheduler/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace loop_chunks_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kReducers = R"(
any { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }
all { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(b, a) }
)";

// Exact, on each driver as it is and taken for a GPU of many units.
void Check(const std::string& text, const std::vector<Literal>& arguments, bool in_chunks = true) {
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
TEST(LoopChunksTest, EndsWhereTheLastElementDoes) {
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
  Check(Countdown(4099), From(4099, 70));
}

// What the end depends on beside: a count, whether all have come far enough, a reduction of the trip before.
TEST(LoopChunksTest, ConditionsOfSeveralReductions) {
  Check(Countdown(10007, R"(  most = s32[] constant(45)  few = pred[] compare(i, most), direction=LT
  fives = s32[10007] broadcast(i), dimensions={}
  far = pred[10007] compare(y, fives), direction=NE
  every = pred[] reduce(far, yes), dimensions={0}, to_apply=all
  some = pred[] reduce(left, no), dimensions={0}, to_apply=any
  both = pred[] and(some, few)
  not_every = pred[] not(every)
  ROOT go = pred[] or(both, not_every)
)"),
        From(10007, 60));
  Check(Countdown(2048, "  ROOT go = pred[] and(c, c)\n",
                  "  nc = pred[] reduce(left, no), dimensions={0}, to_apply=any\n"),
        From(2048, 40));
}

// Done elements as preds, a table that all read, trips of an inner loop, within a loop around.
TEST(LoopChunksTest, StatesOfOtherTypesInALoopAround) {
  Check(fmt::format(R"(HloModule walks
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
  places = s32[1500] convert(moved)
  column = s32[1500,1] reshape(places)
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
  s = (s32[], u8[1500], u8[997], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  at = u8[1500] get-tuple-element(s), index=1
  table = u8[997] get-tuple-element(s), index=2
  total = s32[] get-tuple-element(s), index=3
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
  ROOT r = (s32[], u8[1500], u8[997], s32[]) tuple(nn, shifted, table, more)
}}
outer_condition {{
  s = (s32[], u8[1500], u8[997], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  most = s32[] constant(3)
  ROOT c = pred[] compare(n, most), direction=LT
}}
ENTRY main {{
  at = u8[1500] parameter(0)
  table = u8[997] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], u8[1500], u8[997], s32[]) tuple(zero, at, table, zero)
  ROOT loop = (s32[], u8[1500], u8[997], s32[]) while(start), condition=outer_condition, body=outer_body
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

// An element depends on what all elements say, or on another one.
TEST(LoopChunksTest, ElementsThatMeetGoTripByTrip) {
  const std::string depends =
      "  cs = pred[3001] broadcast(c), dimensions={}  mixed = s32[3001] select(cs, ny, nx)\n"
      "  nc = pred[] reduce(left, no), dimensions={0}, to_apply=any\n";
  std::string text = Countdown(3001, "", depends);
  text.replace(text.find("tuple(nx, ny, ni, nc)"), 21, "tuple(nx, mixed, ni, nc)");
  Check(text, From(3001, 40), false);
  text = Countdown(3001);
  text.replace(text.find("less = s32[3001] subtract(x, ones)"), 34,
               "rev = s32[3001] reverse(x), dimensions={0}  two = s32[3001] subtract(x, ones)  "
               "less = s32[3001] minimum(two, rev)");
  Check(text, From(3001, 40), false);
}

}  // namespace loop_chunks_test
}  // namespace VXLA_NAMESPACE::testing
