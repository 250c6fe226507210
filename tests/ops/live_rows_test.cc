// Arrays whose live sizes data decide cost what lives of them: kernels stop behind it (core/passes/sizes/live_rows.h).
#include "core/passes/sizes/live_rows.h"

#include <gmock/gmock.h>

#include <functional>

#include "core/passes/base/pipeline.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kHead[] = R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
most {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}
count {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
up {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}
)";

// Loops, rows, columns, sums along what lives, an order and a product, of one size that is a sum.
constexpr char kOps[] = R"(ENTRY e {
  x = f32[65536] parameter(0)
  t = f32[65536,6] parameter(1)
  k = s32[8] parameter(2)
  w = f32[6,5] parameter(3)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  d = f32[<=65536] set-dimension-size(x, n), dimensions={0}
  e = f32[<=65536] exponential(d)
  s = f32[<=65536] tanh(e)
  total = f32[] reduce(s, zero), dimensions={0}, to_apply=sum
  top = f32[] reduce(e, low), dimensions={0}, to_apply=most
  sorted = f32[<=65536] sort(s), dimensions={0}, to_apply=up
  m = f32[<=65536,6] set-dimension-size(t, n), dimensions={0}
  h = f32[<=65536,6] tanh(m)
  rows = f32[<=65536] reduce(h, low), dimensions={1}, to_apply=most
  columns = f32[6] reduce(h, zero), dimensions={0}, to_apply=sum
  scaled = f32[<=65536] multiply(rows, e)
  product = f32[<=65536,5] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  turned = f32[<=65536,3,2] reshape(h)
  back = f32[<=65536,2,3] transpose(turned), dimensions={0,2,1}
  middle = f32[<=65536,3] slice(h), slice={[0:65536], [1:4]}
  short = s16[<=65536,3] convert(middle)
  ROOT r = (f32[<=65536], f32[], f32[], f32[<=65536], f32[6], f32[<=65536,5], f32[<=65536,2,3], s16[<=65536,3]) tuple(scaled, total, top, sorted, columns, product, back, short)
})";

std::vector<Literal> ArgumentsFor(int64_t live) {
  std::vector<Literal> arguments{
      RandomLiteral(Shape(ElementType::kF32, {65536}), 1), RandomLiteral(Shape(ElementType::kF32, {65536, 6}), 2),
      Literal(Shape(ElementType::kS32, {8})), RandomLiteral(Shape(ElementType::kF32, {6, 5}), 3)};
  arguments[2].SetInt(0, live / 2);
  arguments[2].SetInt(7, live - live / 2);
  return arguments;
}

// What adds up to a size.
Literal SizesOf(int64_t live) {
  Literal sizes(Shape(ElementType::kS32, {8}));
  sizes.SetInt(5, live);
  return sizes;
}

TEST(LiveRowsTest, KernelsStopBehindWhatLives) {
  for (const int64_t live : {0, 1, 100, 40961, 65536}) {
    SCOPED_TRACE(live);
    const auto result = RunBoth(std::string(kHead) + kOps, ArgumentsFor(live));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), live);
  }
}

// A workgroup that finds nothing to do costs a software driver as much as others, so the device counts them.
TEST(LiveRowsTest, TheDeviceCountsTheWorkgroups) {
  for (BindingMode mode : ModesToRun()) {
    Client* const client = DeviceClient(mode);
    ASSERT_NE(client, nullptr);
    if (!client->device().facts().is_software()) continue;
    auto executable = client->Compile(*ParseModule(std::string(kHead) + kOps));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const std::string text = ToText((*executable)->plan());
    EXPECT_THAT(text, HasSubstr("or fewer by")) << text;
  }
}

// In a loop that the device ends and in a branch that it chooses, workgroups are those of the gates: all or none.
TEST(LiveRowsTest, LoopsAndBranchesOfTheDevice) {
  const std::string text = std::string(kHead) + R"(more {
  s = (f32[<=65536], f32[65536], s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=2
  limit = s32[] constant(30000)
  ROOT r = pred[] compare(n, limit), direction=GT
}
double_it {
  v = f32[<=65536] parameter(0)
  ROOT r = f32[<=65536] add(v, v)
}
turn_it {
  v = f32[<=65536] parameter(0)
  c = f32[<=65536] cosine(v)
  ROOT r = f32[<=65536] sine(c)
}
fewer {
  s = (f32[<=65536], f32[65536], s32[], f32[]) parameter(0)
  v = f32[<=65536] get-tuple-element(s), index=0
  w = f32[65536] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  t = f32[] get-tuple-element(s), index=3
  zero = f32[] constant(0)
  less = s32[] constant(7001)
  m = s32[] subtract(n, less)
  x = f32[65536] exponential(w)
  y = f32[65536] negate(x)
  part = f32[<=65536] set-dimension-size(y, m), dimensions={0}
  one = s32[] constant(1)
  odd = s32[] and(m, one)
  chosen = f32[<=65536] conditional(odd, part, part), branch_computations={double_it, turn_it}
  u = f32[<=65536] tanh(chosen)
  total = f32[] reduce(u, t), dimensions={0}, to_apply=sum
  ROOT r = (f32[<=65536], f32[65536], s32[], f32[]) tuple(u, w, m, total)
}
ENTRY e {
  w = f32[65536] parameter(0)
  k = s32[8] parameter(1)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  v = f32[<=65536] set-dimension-size(w, n), dimensions={0}
  s = (f32[<=65536], f32[65536], s32[], f32[]) tuple(v, w, n, zero)
  l = (f32[<=65536], f32[65536], s32[], f32[]) while(s), condition=more, body=fewer
  last = f32[<=65536] get-tuple-element(l), index=0
  total = f32[] get-tuple-element(l), index=3
  ROOT r = (f32[<=65536], f32[]) tuple(last, total)
})";
  for (const int64_t live : {65000, 30001, 100}) {
    Literal sizes(Shape(ElementType::kS32, {8}));
    sizes.SetInt(5, live);
    RunBoth(text, {RandomLiteral(Shape(ElementType::kF32, {65536}), 1), sizes});
  }
}

// What is read from behind a size, directly or because a larger size brings it back, is computed.
TEST(LiveRowsTest, WhatIsReadBehindASizeIsThere) {
  const std::string text = std::string(kHead) + R"(ENTRY e {
  x = f32[4096] parameter(0)
  n = s32[8] parameter(1)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  few = s32[] reduce(n, none), dimensions={0}, to_apply=count
  more = s32[] add(few, few)
  e = f32[4096] exponential(x)
  s = f32[4096] sine(x)
  d = f32[<=4096] set-dimension-size(e, few), dimensions={0}
  a = f32[] reduce(d, zero), dimensions={0}, to_apply=sum
  c = f32[<=4096] set-dimension-size(d, more), dimensions={0}
  b = f32[] reduce(c, zero), dimensions={0}, to_apply=sum
  part = f32[<=4096] set-dimension-size(s, few), dimensions={0}
  f = f32[] reduce(part, zero), dimensions={0}, to_apply=sum
  ROOT r = (f32[], f32[], f32[<=4096], f32[4096], f32[]) tuple(a, b, c, s, f)
})";
  Literal sizes(Shape(ElementType::kS32, {8}));
  sizes.SetInt(3, 1234);
  RunBoth(text, {RandomLiteral(Shape(ElementType::kF32, {4096}), 1), sizes});
}

// A size may depend on the very values that it cuts.
TEST(LiveRowsTest, ASizeOfTheValuesThatItCutsIsNoCircle) {
  const std::string text = std::string(kHead) + R"(ENTRY e {
  x = f32[4096] parameter(0)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  s = f32[4096] sine(x)
  z = f32[4096] broadcast(zero), dimensions={}
  p = pred[4096] compare(s, z), direction=GT
  c = s32[4096] convert(p)
  n = s32[] reduce(c, none), dimensions={0}, to_apply=count
  d = f32[<=4096] set-dimension-size(s, n), dimensions={0}
  e = f32[<=4096] exponential(d)
  t = f32[] reduce(e, zero), dimensions={0}, to_apply=sum
  ROOT r = (f32[<=4096], f32[]) tuple(e, t)
})";
  RunBoth(text, {RandomLiteral(Shape(ElementType::kF32, {4096}), 1)});
}

// One executable for sizes in turn, each on what the run before has left in memory.
void RunInTurn(const std::string& text, const std::vector<int64_t>& sizes,
               const std::function<std::vector<Literal>(int64_t)>& arguments_for) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  for (BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const int64_t live : sizes) {
      SCOPED_TRACE(live);
      const std::vector<Literal> arguments = arguments_for(live);
      std::vector<const Literal*> pointers;
      for (const Literal& argument : arguments) pointers.push_back(&argument);
      const Result<Literal> got = (*executable)->Run(pointers);
      ASSERT_TRUE(got.ok()) << got.status().message();
      const std::optional<Literal> want = RunOnCpu(*module, arguments);
      ASSERT_TRUE(want.has_value());
      ExpectAgreement(*got, *want, RunOptions(), "in turn");
    }
  }
}

// What says which elements live is there for all of them, whatever lay in its memory: here that of a run of more.
TEST(LiveRowsTest, ASortOfFewerAfterMoreKeepsWhatDoesNotLiveLast) {
  const std::string text = std::string(kHead) + R"(ENTRY e {
  x = f32[8192] parameter(0)
  k = s32[8] parameter(1)
  none = s32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  d = f32[<=8192] set-dimension-size(x, n), dimensions={0}
  ROOT r = f32[<=8192] sort(d), dimensions={0}, to_apply=up
})";
  RunInTurn(text, {8192, 1025, 100, 5000, 1}, [](int64_t live) {
    return std::vector{RandomLiteral(Shape(ElementType::kF32, {8192}), 1), SizesOf(live)};
  });
}

// Below the least bound that is made smaller (core/passes/sizes/dynamic_padder.h), whose kernels run up to the bound.
TEST(LiveRowsTest, FewerAfterMoreOfEveryFamily) {
  const std::string text = std::string(kHead) + R"(ENTRY e {
  t = f32[500,8] parameter(0)
  k = s32[8] parameter(1)
  w = f32[8,8] parameter(2)
  x = f32[500] parameter(3)
  i = s32[500] parameter(4)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  before = f32[500,8] sine(t)
  m = f32[<=500,8] set-dimension-size(before, n), dimensions={0}
  e = f32[500] exponential(x)
  d = f32[<=500] set-dimension-size(e, n), dimensions={0}
  j = s32[<=500] set-dimension-size(i, n), dimensions={0}
  sorted = f32[<=500] sort(d), dimensions={0}, to_apply=up
  rows = f32[<=500,8] sort(m), dimensions={1}, to_apply=up
  down = f32[<=500,8] sort(m), dimensions={0}, to_apply=up
  product = f32[<=500,8] dot(m, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  gram = f32[8,8] dot(m, m), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  added = f32[8,8] scatter(w, j, m), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  picked = f32[<=500,8] gather(w, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
  windows = f32[<=500,8] reduce-window(m, zero), window={size=3x1 pad=1_1x0_0}, to_apply=sum
  columns = f32[8] reduce(picked, zero), dimensions={0}, to_apply=sum
  turned = f32[8,<=500] transpose(m), dimensions={1,0}
  tanh = f32[8,<=500] tanh(turned)
  back = f32[<=500,8] reverse(m), dimensions={0}
  twice = f32[<=1000,8] concatenate(back, product), dimensions={0}
  ROOT r = (f32[<=500], f32[<=500,8], f32[<=500,8], f32[<=500,8], f32[8,8], f32[8,8], f32[<=500,8], f32[8], f32[8,<=500], f32[<=1000,8]) tuple(sorted, rows, down, product, gram, added, windows, columns, tanh, twice)
})";
  RunInTurn(text, {500, 33, 499, 0, 128, 1, 500}, [](int64_t live) {
    Literal rows(Shape(ElementType::kS32, {500}));
    for (int64_t k = 0; k < 500; ++k) rows.SetInt(k, k * 5 % 8);
    return std::vector{RandomLiteral(Shape(ElementType::kF32, {500, 8}), 1), SizesOf(live),
                       RandomLiteral(Shape(ElementType::kF32, {8, 8}), 2),
                       RandomLiteral(Shape(ElementType::kF32, {500}), 3), rows};
  });
}

// The same at more rows than a workgroup has, stopped behind what lives.
TEST(LiveRowsTest, FewerAfterMoreOfEveryKernelThatStops) {
  RunInTurn(std::string(kHead) + kOps, {65536, 100, 40961, 0, 1}, ArgumentsFor);
}

// What lives along another dimension than the first lies in pieces.
TEST(LiveRowsTest, FewerAfterMoreOfOtherDimensions) {
  const std::string text = std::string(kHead) + R"(ENTRY e {
  a = f32[8,8192] parameter(0)
  b = f32[3,4099,5] parameter(1)
  c = s8[7,5000] parameter(2)
  g = f32[2,3,4000,2] parameter(3)
  k = s32[8] parameter(4)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  sa = f32[8,8192] sine(a)
  da = f32[8,<=8192] set-dimension-size(sa, n), dimensions={1}
  ea = f32[8,<=8192] exponential(da)
  sorted = f32[8,<=8192] sort(ea), dimensions={1}, to_apply=up
  sums = f32[8] reduce(ea, zero), dimensions={1}, to_apply=sum
  sb = f32[3,4099,5] cosine(b)
  db = f32[3,<=4099,5] set-dimension-size(sb, n), dimensions={1}
  eb = f32[3,<=4099,5] exponential(db)
  nc = s8[7,5000] negate(c)
  dc = s8[7,<=5000] set-dimension-size(nc, n), dimensions={1}
  ec = s8[7,<=5000] add(dc, dc)
  ng = f32[2,3,4000,2] tanh(g)
  dg = f32[2,3,<=4000,2] set-dimension-size(ng, n), dimensions={2}
  eg = f32[2,3,<=4000,2] multiply(dg, dg)
  tg = f32[<=4000,2,3,2] transpose(eg), dimensions={2,0,1,3}
  ROOT r = (f32[8,<=8192], f32[8], f32[3,<=4099,5], s8[7,<=5000], f32[2,3,<=4000,2], f32[<=4000,2,3,2], f32[8,<=8192]) tuple(sorted, sums, eb, ec, eg, tg, ea)
})";
  RunInTurn(text, {4000, 77, 3999, 0, 1, 1024}, [](int64_t live) {
    return std::vector{RandomLiteral(Shape(ElementType::kF32, {8, 8192}), 1),
                       RandomLiteral(Shape(ElementType::kF32, {3, 4099, 5}), 2),
                       RandomLiteral(Shape(ElementType::kS8, {7, 5000}), 3),
                       RandomLiteral(Shape(ElementType::kF32, {2, 3, 4000, 2}), 4), SizesOf(live)};
  });
}

// Bytes of a profile are those of what lives, where the device counted the workgroups.
TEST(LiveRowsTest, ProfilesCountWhatLives) {
  const auto module = ParseModule(std::string(kHead) + R"(ENTRY e {
  t = f32[65536,16] parameter(0)
  k = s32[8] parameter(1)
  none = s32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  m = f32[<=65536,16] set-dimension-size(t, n), dimensions={0}
  ROOT r = f32[<=65536,16] tanh(m)
})");
  ASSERT_NE(module, nullptr);
  CompileOptions options;
  options.profile = true;
  for (BindingMode mode : ModesToRun()) {
    Client* const client = DeviceClient(mode);
    if (!client->device().facts().is_software()) continue;
    auto executable = client->Compile(*module, options);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const int64_t live : {100, 65536}) {
      const std::vector<Literal> arguments{RandomLiteral(Shape(ElementType::kF32, {65536, 16}), 1), SizesOf(live)};
      const std::vector<const Literal*> pointers{&arguments[0], &arguments[1]};
      RunStatistics statistics;
      ASSERT_TRUE((*executable)->Run(pointers, &statistics).ok());
      int64_t bytes = 0;
      for (const StepTime& step : statistics.steps) bytes += step.bytes;
      // Read and written twice, the copy to the result included; up to a workgroup of 64 KiB more in each.
      const int64_t least = live * 16 * 4 * 4;
      EXPECT_GE(bytes, least);
      EXPECT_LE(bytes, least + 4 * 65536 + 4096);
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
