// Values that leave their loop, and loops that are written out.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace loop_hoisting_test {

// sum += product(x[index], w) in a scan of 7 trips, from the last slice to the first.
std::string Accumulation(const std::string& x, const std::string& slice, const std::string& part, const std::string& w,
                         const std::string& sum, const std::string& product) {
  std::string zeros, sizes = slice.substr(slice.find('['));
  for (int d = 1; d < static_cast<int>(std::ranges::count(slice, ',')) + 1; ++d) zeros += ", zero";
  std::ranges::replace(sizes, '[', '{');
  std::ranges::replace(sizes, ']', '}');
  return fmt::format(R"(HloModule m
body {{
  s = (s32[], {4}, {0}, {3}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sum = {4} get-tuple-element(s), index=1
  x = {0} get-tuple-element(s), index=2
  w = {3} get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  last = s32[] constant(6)
  next = s32[] add(i, one)
  back = s32[] subtract(last, i)
  slice = {1} dynamic-slice(x, back{6}), dynamic_slice_sizes={7}
  part = {2} reshape(slice)
  product = {4} {5}
  new = {4} add(sum, product)
  out = {4} tanh(new)
  ROOT r = (s32[], {4}, {0}, {3}) tuple(next, out, x, w)
}}
condition {{
  s = (s32[], {4}, {0}, {3}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  sum = {4} parameter(0)
  x = {0} parameter(1)
  w = {3} parameter(2)
  zero = s32[] constant(0)
  s = (s32[], {4}, {0}, {3}) tuple(zero, sum, x, w)
  loop = (s32[], {4}, {0}, {3}) while(s), condition=condition, body=body
  ROOT y = {4} get-tuple-element(loop), index=1
}})",
                     x, slice, part, w, sum, product, zeros, sizes);
}

void Check(const std::string& text) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunBoth(text, RandomArguments(*module, 1), {});
}

TEST(LoopHoistingTest, ProductsOfSlicesAgreeOnEitherSideAndInBatches) {
  Check(Accumulation("f32[7,5,11]", "f32[1,5,11]", "f32[5,11]", "f32[11,13]", "f32[5,13]",
                     "dot(part, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  Check(Accumulation("f32[7,5,11]", "f32[1,5,11]", "f32[5,11]", "f32[13,11]", "f32[13,5]",
                     "dot(w, part), lhs_contracting_dims={1}, rhs_contracting_dims={1}"));
  Check(Accumulation("f32[7,2,3,11]", "f32[1,2,3,11]", "f32[2,3,11]", "f32[2,11,5]", "f32[2,5,3]",
                     "dot(w, part), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={2}"));
  Check(Accumulation("f32[7,11]", "f32[1,11]", "f32[11]", "f32[11]", "f32[]",
                     "dot(part, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}"));
}

// One key's random bits as JAX draws them: a while of five trips over tables of rotations.
constexpr char kThreefry[] = R"(HloModule threefry
body {
  s = (s32[], u32[1009], u32[1009], u32[], u32[], u32[], u32[4], u32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u32[1009] get-tuple-element(s), index=1
  y = u32[1009] get-tuple-element(s), index=2
  k0 = u32[] get-tuple-element(s), index=3
  k1 = u32[] get-tuple-element(s), index=4
  k2 = u32[] get-tuple-element(s), index=5
  t = u32[4] get-tuple-element(s), index=6
  v = u32[4] get-tuple-element(s), index=7
  one = s32[] constant(1)
  next = s32[] add(i, one)
  bits = u32[] constant(32)
  a = u32[1009] add(x, y)
  first = u32[1] slice(t), slice={[0:1]}
  left = u32[] reshape(first)
  lefts = u32[1009] broadcast(left), dimensions={}
  right = u32[] subtract(bits, left)
  rights = u32[1009] broadcast(right), dimensions={}
  up = u32[1009] shift-left(y, lefts)
  down = u32[1009] shift-right-logical(y, rights)
  turned = u32[1009] or(up, down)
  b = u32[1009] xor(a, turned)
  key = u32[1009] broadcast(k0), dimensions={}
  c = u32[1009] add(a, key)
  other = u32[1009] broadcast(k1), dimensions={}
  count = u32[] convert(next)
  counts = u32[1009] broadcast(count), dimensions={}
  d = u32[1009] add(b, other)
  e = u32[1009] add(d, counts)
  ROOT r = (s32[], u32[1009], u32[1009], u32[], u32[], u32[], u32[4], u32[4]) tuple(next, c, e, k1, k2, k0, v, t)
}
condition {
  s = (s32[], u32[1009], u32[1009], u32[], u32[], u32[], u32[4], u32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  k = u32[2] parameter(0)
  a = u32[1] slice(k), slice={[0:1]}
  k0 = u32[] reshape(a)
  b = u32[1] slice(k), slice={[1:2]}
  k1 = u32[] reshape(b)
  k2 = u32[] xor(k0, k1)
  x = u32[1009] iota(), iota_dimension=0
  y = u32[1009] broadcast(k0), dimensions={}
  zero = s32[] constant(0)
  t = u32[4] constant({13, 15, 26, 6})
  v = u32[4] constant({17, 29, 16, 24})
  s = (s32[], u32[1009], u32[1009], u32[], u32[], u32[], u32[4], u32[4]) tuple(zero, x, y, k0, k1, k2, t, v)
  w = (s32[], u32[1009], u32[1009], u32[], u32[], u32[], u32[4], u32[4]) while(s), condition=condition, body=body
  p = u32[1009] get-tuple-element(w), index=1
  q = u32[1009] get-tuple-element(w), index=2
  r = u32[1009] xor(p, q)
  nine = u32[] constant(9)
  nines = u32[1009] broadcast(nine), dimensions={}
  ROOT z = u32[1009] shift-right-logical(r, nines)
})";

TEST(LoopHoistingTest, RoundsOverTablesAreOneKernelWithWhatIsMadeOfThem) {
  const auto module = ParseModule(kThreefry);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.tolerance = Tolerance{};
  options.dispatches = 1;
  RunBoth(kThreefry, RandomArguments(*module), options);
}

}  // namespace loop_hoisting_test
}  // namespace VXLA_NAMESPACE::testing
