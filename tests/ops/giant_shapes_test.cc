// More than 2^31 elements, in memory or (what a reduction goes over) nowhere. The reference would need the memory for
// all of them, so results are compared with closed forms. VXLA_TEST_LONG=1: those that take seconds, or 5 GB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

std::vector<int64_t> Integers(const Literal& literal) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.shape().ElementCount(); ++i) values.push_back(literal.GetInt(i));
  return values;
}

// The results, one array a leaf; an instruction that would run on the host fails the test.
std::vector<std::vector<int64_t>> Results(BindingMode mode, const std::string& text,
                                          const std::vector<Literal>& arguments) {
  std::vector<std::vector<int64_t>> results;
  const auto module = ParseModule(text);
  if (module == nullptr) return results;
  const auto result = RunOnDevice(mode, *module, arguments);
  if (!result) return results;
  if (!result->shape().IsTuple()) return {Integers(*result)};
  for (const Literal& element : result->tuple_elements()) results.push_back(Integers(element));
  return results;
}

// i, i + 1 ... of a byte array that is x ^ (i mod 256).
std::vector<int64_t> Bytes(int64_t first, int64_t count, int64_t x) {
  std::vector<int64_t> values;
  for (int64_t i = first; i < first + count; ++i) values.push_back((i & 255) ^ x);
  return values;
}

Literal Byte(uint8_t value) { return Literal::FromVector<uint8_t>(Shape(ElementType::kU8, {}), {{value}}); }

TEST(GiantShapesTest, WhatIsReadOfThemIsComputedWhereItIsRead) {
  for (BindingMode mode : ModesToRun()) {
    const auto results =
        Results(mode, R"(ENTRY e { x = u8[] parameter(0)  at = s64[2,1] parameter(1)
  b = u8[3000000001] broadcast(x), dimensions={}
  i = u8[3000000001] iota(), iota_dimension=0
  v = u8[3000000001] xor(b, i)
  s = u8[5] slice(v), slice={[2999999996:3000000001]}
  r = u8[3000000001] reverse(v), dimensions={0}
  t = u8[5] slice(r), slice={[0:5]}
  g = u8[2,3] gather(v, at), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={3}
  m = u8[60000,50000] iota(), iota_dimension=1
  n = u8[60000,50000] iota(), iota_dimension=0
  a = u8[60000,50000] add(m, n)
  f = u8[3000000000] reshape(a)
  h = u8[4] slice(f), slice={[2999999996:3000000000]}
  ROOT q = (u8[5], u8[5], u8[2,3], u8[4]) tuple(s, t, g, h) })",
                {Byte(77), Literal::FromVector<int64_t>(Shape(ElementType::kS64, {2, 1}), {{2500000000, 4000000000}})});
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(results[0], Bytes(2999999996, 5, 77));
    std::vector<int64_t> reversed = Bytes(2999999996, 5, 77);
    std::ranges::reverse(reversed);
    EXPECT_EQ(results[1], reversed);
    std::vector<int64_t> gathered = Bytes(2500000000, 3, 77);
    for (int64_t value : Bytes(2999999998, 3, 77)) gathered.push_back(value);  // the start is clamped
    EXPECT_EQ(results[2], gathered);
    std::vector<int64_t> sums;
    for (int64_t j = 49996; j < 50000; ++j) sums.push_back((59999 + j) & 255);
    EXPECT_EQ(results[3], sums);
  }
}

// A dimension of more than 2^31 positions: what pads it is found by 32 bits, and its quotients too.
TEST(GiantShapesTest, ADimensionMayHaveMoreThan31Bits) {
  for (BindingMode mode : ModesToRun()) {
    const auto results = Results(
        mode, R"(ENTRY e { p = u8[7,3] parameter(0)  z = u8[] constant(9)
  q = u8[2147483655,3] pad(p, z), padding=2147483647_1x0_0
  s = u8[3,3] slice(q), slice={[2147483646:2147483649],[0:3]}
  i = u32[3000000000] iota(), iota_dimension=0  c = u32[] constant(1000000000)  m = u32[3000000000] broadcast(c), dimensions={}
  d = u32[3000000000] divide(i, m)  f = u32[3,1000000000] reshape(d)
  t = u32[3,1] slice(f), slice={[0:3],[999999999:1000000000]}
  ROOT r = (u8[3,3], u32[3,1]) tuple(s, t) })",
        {Literal::FromVector<uint8_t>(Shape(ElementType::kU8, {7, 3}),
                                      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}})});
    EXPECT_EQ(results, (std::vector<std::vector<int64_t>>{{9, 9, 9, 1, 2, 3, 4, 5, 6}, {0, 1, 2}}));
  }
}

bool IsLong() { return std::getenv("VXLA_TEST_LONG") != nullptr; }

// Rows of pairs that are nowhere in memory, and one row of 2^31 and some elements. In CI few of the pairs.
TEST(GiantShapesTest, ReductionsGoOverMoreThanMemoryHolds) {
  const int64_t rows = IsLong() ? 50000 : 3;
  for (BindingMode mode : ModesToRun()) {
    const auto results =
        Results(mode,
                fmt::format(R"(add {{ a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }}
ENTRY e {{ x = s32[50000] iota(), iota_dimension=0
  a = s32[50000,60000] broadcast(x), dimensions={{0}}
  b = s32[50000,60000] iota(), iota_dimension=1
  c = pred[50000,60000] compare(a, b), direction=GT
  n = s32[50000,60000] convert(c)
  p = s32[{0},60000] slice(n), slice={{[{1}:50000],[0:60000]}}
  z = s32[] constant(0)
  ROOT s = s32[{0}] reduce(p, z), dimensions={{1}}, to_apply=add }})",
                            rows, 50000 - rows),
                {});
    ASSERT_EQ(results.size(), 1u);
    for (int64_t i = 0; i < rows; ++i) ASSERT_EQ(results[0][static_cast<size_t>(i)], 50000 - rows + i);
  }
  if (!IsLong()) return;
  for (BindingMode mode : ModesToRun()) {
    const auto results =
        Results(mode, R"(add { x = s32[] parameter(0)  y = s32[] parameter(1)  ROOT r = s32[] add(x, y) }
ENTRY e { p = s32[3] parameter(0)  b = s32[3,1000000007] broadcast(p), dimensions={0}
  i = s32[3,1000000007] iota(), iota_dimension=1  k = s32[] constant(7)
  v = s32[3,1000000007] broadcast(k), dimensions={}  m = s32[3,1000000007] and(i, v)  c = s32[3,1000000007] add(b, m)
  z = s32[] constant(0)  s = s32[3] reduce(c, z), dimensions={1}, to_apply=add
  t = s32[] reduce(c, z), dimensions={0,1}, to_apply=add
  ROOT r = (s32[3], s32[]) tuple(s, t) })",
                {Literal::FromVector<int32_t>(Shape(ElementType::kS32, {3}), {{1, 2, 3}})});
    EXPECT_EQ(results, (std::vector<std::vector<int64_t>>{{205032732, 1205032739, -2089934550}, {-679869079}}));
  }
  for (BindingMode mode : ModesToRun()) {
    const auto results = Results(
        mode, R"(most { a = s32[] parameter(0)  i = s64[] parameter(1)  b = s32[] parameter(2)  j = s64[] parameter(3)
  g = pred[] compare(a, b), direction=GT  q = pred[] compare(a, b), direction=EQ  l = pred[] compare(i, j), direction=LT
  e = pred[] and(q, l)  p = pred[] or(g, e)  v = s32[] select(p, a, b)  k = s64[] select(p, i, j)
  ROOT r = (s32[], s64[]) tuple(v, k) }
add { a = u32[] parameter(0)  b = u32[] parameter(1)  ROOT r = u32[] add(a, b) }
ENTRY e { i = u32[2500000001] iota(), iota_dimension=0  c = u32[] constant(2654435761)
  m = u32[2500000001] broadcast(c), dimensions={}  h = u32[2500000001] multiply(i, m)  n = u32[] constant(8)
  w = u32[2500000001] broadcast(n), dimensions={}  u = u32[2500000001] shift-right-logical(h, w)
  s = s32[2500000001] bitcast-convert(u)  k = s64[2500000001] iota(), iota_dimension=0
  y = s32[] constant(-1)  z = s64[] constant(0)  o = u32[] constant(0)
  t = u32[] reduce(u, o), dimensions={0}, to_apply=add
  x = (s32[], s64[]) reduce(s, k, y, z), dimensions={0}, to_apply=most
  a = s32[] get-tuple-element(x), index=0  b = s64[] get-tuple-element(x), index=1
  ROOT r = (s32[], s64[], u32[]) tuple(a, b, t) })",
        {});
    EXPECT_EQ(results, (std::vector<std::vector<int64_t>>{{16777215}, {2604072}, {895505681}}));
  }
}

// The loops of a tensor that large are parts, and indices beyond 2^31 have 64 bits.
TEST(GiantShapesTest, TensorsInMemoryAreReachedByAddresses) {
  const int64_t rows = IsLong() ? 46000 : 46, cells = rows * 50000;
  Client* client = DeviceClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  if (const DeviceFacts& facts = client->device().facts(); facts.max_allocation_bytes < static_cast<uint64_t>(cells)) {
    GTEST_SKIP() << facts.name << " allocates " << facts.max_allocation_bytes << " bytes at a time at most";
  }
  const std::string text = fmt::format(
      R"(ENTRY e {{ x = u8[] parameter(0)  at = s64[] parameter(1)  new = u8[3] parameter(2)
  b = u8[{0},50000] broadcast(x), dimensions={{}}
  i = u8[{0},50000] iota(), iota_dimension=1
  j = u8[{0},50000] iota(), iota_dimension=0
  k = u8[{0},50000] add(i, j)
  c = u8[{0},50000] xor(b, k)
  o = u8[{0},50000] opt-barrier(c)
  t = u8[50000,{0}] transpose(o), dimensions={{1,0}}
  l = u8[50000,{0}] opt-barrier(t)
  f = u8[{1}] reshape(o)
  u = u8[{1}] dynamic-update-slice(f, new, at)
  s = u8[1000] slice(u), slice={{[{2}:{1}]}}
  d = u8[4] dynamic-slice(f, at), dynamic_slice_sizes={{4}}
  e = u8[2,3] slice(l), slice={{[49998:50000],[{3}:{0}]}}
  ROOT r = (u8[1000], u8[4], u8[2,3]) tuple(s, d, e) }})",
      rows, cells, cells - 1000, rows - 3);
  const auto cell = [](int64_t i) { return (((i % 50000) + (i / 50000)) & 255) ^ 77; };
  const std::vector<Literal> arguments = {Byte(77), Literal::ScalarInt(ElementType::kS64, cells - 10),
                                          Literal::FromVector<uint8_t>(Shape(ElementType::kU8, {3}), {{1, 2, 3}})};
  const auto results = Results(BindingMode::kAddresses, text, arguments);
  ASSERT_EQ(results.size(), 3u);
  std::vector<int64_t> last, window, corner;
  for (int64_t i = cells - 1000; i < cells; ++i) last.push_back(cell(i));
  for (int64_t i = 0; i < 3; ++i) last[static_cast<size_t>(990 + i)] = i + 1;
  for (int64_t i = cells - 10; i < cells - 6; ++i) window.push_back(cell(i));
  for (int64_t column : {49998, 49999}) {
    for (int64_t row = rows - 3; row < rows; ++row) corner.push_back(cell(row * 50000 + column));
  }
  EXPECT_EQ(results[0], last);
  EXPECT_EQ(results[1], window);
  EXPECT_EQ(results[2], corner);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
