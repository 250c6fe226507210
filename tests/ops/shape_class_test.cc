// Shapes at the edges: beyond a storage buffer's range, rank 6, width changes in place, values that pass through calls
// and tuples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

void ExpectAgree(const std::string& text, RunOptions options = {}) {
  const auto module = ParseModule(text);
  if (module != nullptr) RunBoth(text, RandomArguments(*module), options);
}

// 140 MB: addresses reach all of it, a descriptor on this driver does not and says so.
TEST(ShapeClassTest, TensorsBeyondTheRangeOfADescriptor) {
  const std::string text = R"(ENTRY e { p = s32[] parameter(0)  b = s32[35000003] broadcast(p), dimensions={}
  i = s32[35000003] iota(), iota_dimension=0  a = s32[35000003] add(b, i)  x = s32[35000003] opt-barrier(a)
  r = s32[35000003] reverse(x), dimensions={0}  y = s32[35000003] opt-barrier(r)
  ROOT s = s32[3] slice(y), slice={[35000000:35000003]} })";
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = {Literal::ScalarInt(ElementType::kS32, 7)};
  const auto actual = RunOnDevice(BindingMode::kAddresses, *module, arguments);
  ASSERT_TRUE(actual);
  EXPECT_EQ(*actual, Literal::FromVector<int32_t>(Shape(ElementType::kS32, {3}), {{9, 8, 7}}));

  Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  const DeviceFacts& facts = client->device().facts();
  if (facts.max_storage_range_bytes >= 35000003 * 4) {
    GTEST_SKIP() << facts.name << " has descriptors of " << facts.max_storage_range_bytes
                 << " bytes, which reach it all";
  }
  Status status = OkStatus();
  auto executable = client->Compile(*module);
  if (!executable.ok()) {
    status = executable.status();
  } else {
    const std::vector<const Literal*> pointers = {&arguments[0]};
    status = (*executable)->Run(pointers).status();
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("addresses"));
}

TEST(ShapeClassTest, RankSixThroughEveryKindOfKernel) {
  ExpectAgree(R"(add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[2,3,5,2,7,3] parameter(0)  w = f32[3,7,4] parameter(1)  zero = f32[] constant(0)
  t = f32[7,2,3,3,5,2] transpose(x), dimensions={4,0,5,1,2,3}
  s = f32[7,2,3,3,5] reduce(t, zero), dimensions={5}, to_apply=add
  m = f32[3,2] reduce(x, zero), dimensions={0,2,4,5}, to_apply=add
  d = f32[3,2,5,2,3,4] dot(x, w), lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={4}, rhs_contracting_dims={1}
  p = f32[2,3,5,2,7,3] reduce-window(x, zero), window={size=1x2x3x1x2x1 pad=0_0x0_1x1_1x0_0x1_0x0_0}, to_apply=add
  ROOT r = (f32[7,2,3,3,5], f32[3,2], f32[3,2,5,2,3,4], f32[2,3,5,2,7,3]) tuple(s, m, d, p) })");
}

TEST(ShapeClassTest, BitcastConvertsOfAnotherWidthAreTheSameBytes) {
  ExpectAgree(R"(ENTRY e { x = f32[5,3] parameter(0)  y = u8[7,4] parameter(1)  z = s64[3] parameter(2)
  n = f32[5,3] negate(x)
  a = u16[5,3,2] bitcast-convert(n)
  b = f32[7] bitcast-convert(y)
  c = s32[3,2] bitcast-convert(z)  d = s32[3,2] negate(c)
  q = f32[5,2] parameter(3)  e = f64[5] bitcast-convert(q)
  ROOT r = (u16[5,3,2], f32[7], s32[3,2], f64[5]) tuple(a, b, d, e) })",
              {Tolerance{}});
}

// As weights of four bits come: unpacked where they are read.
TEST(ShapeClassTest, ElementsOfLessThanAByteAreSplitAndJoined) {
  RunOptions options;
  options.tolerance = Tolerance{};
  ExpectAgree(
      R"(ENTRY e { x = u8[5,3] parameter(0)  y = s4[7,8] parameter(1)  z = f4e2m1fn[3,2] parameter(2)  w = s64[2] parameter(3)
  a = s4[5,3,2] bitcast-convert(x)  b = f32[7] bitcast-convert(y)  c = u8[3] bitcast-convert(z)  d = u2[2,32] bitcast-convert(w)
  e = s64[2] bitcast-convert(d)  n = u8[0,2] slice(x), slice={[0:0],[0:2]}  m = u4[0,2,2] bitcast-convert(n)
  ROOT r = (s4[5,3,2], f32[7], u8[3], u2[2,32], s64[2], u4[0,2,2]) tuple(a, b, c, d, e, m) })",
      options);
}

TEST(ShapeClassTest, CallsMapsAndTuplesAddNoKernelsAndABarrierSeparatesTwo) {
  RunOptions options;
  options.dispatches = 2;
  ExpectAgree(
      R"(half { v = f32[] parameter(0)  w = f32[] parameter(1)  h = f32[] constant(0.5)  s = f32[] add(v, w)  ROOT m = f32[] multiply(s, h) }
inner { p = f32[11] parameter(0)  q = f32[11] parameter(1)  ROOT m = f32[11] map(p, q), dimensions={0}, to_apply=half }
ENTRY e { t = (f32[11], (f32[11], f32[])) parameter(0)
  x = f32[11] get-tuple-element(t), index=0  u = (f32[11], f32[]) get-tuple-element(t), index=1
  y = f32[11] get-tuple-element(u), index=0  s = f32[] get-tuple-element(u), index=1
  c = f32[11] call(x, y), to_apply=inner
  pair = (f32[11], f32[]) tuple(c, s)
  o = (f32[11], f32[]) opt-barrier(pair)
  v = f32[11] get-tuple-element(o), index=0  w = f32[] get-tuple-element(o), index=1
  b = f32[11] broadcast(w), dimensions={}
  ROOT r = f32[11] multiply(v, b) })",
      options);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
