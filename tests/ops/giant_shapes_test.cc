// More than 2^31 elements, in memory or (what a reduction goes over) nowhere. The reference would need the memory for
// all of them, so results are compared with closed forms. VXLA_TEST_LONG=1: those that take seconds, or 5 GB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "backend/cpu/reference/op_bound.h"
#include "tests/support/giant_results.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// i, i + 1 ... of a byte array that is x ^ (i mod 256).
std::vector<int64_t> Bytes(int64_t first, int64_t count, int64_t x) {
  std::vector<int64_t> values;
  for (int64_t i = first; i < first + count; ++i) values.push_back((i & 255) ^ x);
  return values;
}

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

// Arrays beyond `most` elements fall into parts, as those beyond 2^31 - 1 do: what does not runs on the host.
void ExpectInParts(int64_t most, const std::string& text, const std::vector<Literal>& given = {}) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = given.empty() ? RandomArguments(*module) : given;
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected);
  const std::optional<OpBound> bound = BoundOfProgram(*module, pointers, *expected);
  RunOptions judged;
  if (bound) judged.leaf_tolerances = bound->leaves;
  for (BindingMode mode : ModesToRun()) {
    vulkan::OpenOptions options = TestOptions(mode);
    options.max_elements = most;
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    const auto client = MakeTestClient(*device);
    auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const Fallback& fallback : (*executable)->fallbacks()) ADD_FAILURE() << fallback.opcode << fallback.reason;
    EXPECT_TRUE((*executable)->plan().faults.empty());
    auto actual = (*executable)->Run(pointers);
    ASSERT_TRUE(actual.ok()) << actual.status().message();
    ExpectAgreement(*actual, *expected, judged, "in parts");
  }
}

TEST(GiantShapesTest, ProductsFallIntoParts) {
  const auto dot = [](const std::string& type, const std::string& lhs, const std::string& rhs,
                      const std::string& result, const std::string& dims) {
    return "ENTRY e { x = " + type + lhs + " parameter(0)  y = " + type + rhs + " parameter(1)  ROOT r = " + type +
           result + " dot(x, y), " + dims + " }";
  };
  ExpectInParts(40, dot("f32", "[13,5]", "[5,11]", "[13,11]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  ExpectInParts(60, dot("s8", "[3,7,4]", "[5,3,7]", "[3,4,5]",
                        "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={2}"));
  // More factors of one sum than that.
  ExpectInParts(40, dot("f32", "[2,3,101]", "[3,101,2]", "[3,2,2]",
                        "lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"));
  ExpectInParts(40, dot("bf16", "[101]", "[101]", "[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"));
}

TEST(GiantShapesTest, ConvolutionsFallIntoParts) {
  const auto convolution = [](const std::string& x, const std::string& w, const std::string& r,
                              const std::string& how) {
    return "ENTRY e { x = f32" + x + " parameter(0)  w = f32" + w + " parameter(1)  ROOT r = f32" + r +
           " convolution(x, w), " + how + " }";
  };
  ExpectInParts(300, convolution("[1,19,17,3]", "[3,2,3,4]", "[1,10,18,4]",
                                 "window={size=3x2 stride=2x1 pad=1_2x1_1}, dim_labels=b01f_01io->b01f"));
  // Padding only at the edges, dilation, elements that are cut off, a window from its end.
  ExpectInParts(60, convolution("[1,7,2]", "[3,2,4]", "[1,32,4]",
                                "window={size=3 pad=9_8 lhs_dilate=3 rhs_dilate=2}, dim_labels=b0f_0io->b0f"));
  ExpectInParts(60, convolution("[2,40,2]", "[3,2,4]", "[2,29,4]",
                                "window={size=3 pad=-5_-4 rhs_reversal=1}, dim_labels=b0f_0io->b0f"));
  ExpectInParts(130, convolution("[2,9,12]", "[3,2,18]", "[2,7,18]",
                                 "window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=6"));
  ExpectInParts(50, convolution("[6,9,2]", "[3,2,12]", "[2,7,12]",
                                "window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=3"));
}

TEST(GiantShapesTest, WindowsFallIntoParts) {
  const std::string add = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  const auto window = [&](const std::string& x, const std::string& r, const std::string& how) {
    return add + "ENTRY e { x = f32" + x + " parameter(0)  z = f32[] constant(0)  ROOT r = f32" + r +
           " reduce-window(x, z), window={" + how + "}, to_apply=add }";
  };
  ExpectInParts(60, window("[5,40]", "[5,19]", "size=1x4 stride=1x2"));
  ExpectInParts(60, window("[200]", "[401]", "size=3 pad=2_2 lhs_dilate=2"));
  ExpectInParts(60, window("[7,50]", "[7,50]", "size=1x50 pad=0_0x49_0"));
  ExpectInParts(60, window("[2,200]", "[2,200]", "size=1x200 pad=0_0x0_199"));
  ExpectInParts(
      60, add + R"(ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
ENTRY e { x = f32[9,20] parameter(0)  s = f32[9,10] parameter(1)  z = f32[] constant(0)
  ROOT r = f32[9,20] select-and-scatter(x, s, z), window={size=1x2 stride=1x2}, select=ge, scatter=add })");
}

TEST(GiantShapesTest, RowsFallIntoParts) {
  ExpectInParts(60,
                R"(less { a = s32[] parameter(0)  b = s32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { x = s32[23,7] parameter(0)  y = s32[23,7] iota(), iota_dimension=1
  ROOT r = (s32[23,7], s32[23,7]) sort(x, y), dimensions={1}, to_apply=less, is_stable=true })");
  ExpectInParts(
      60, "ENTRY e { x = f32[5,3,20] parameter(0)  ROOT r = (f32[5,3,4], s32[5,3,4]) topk(x), k=4, largest=true }");
  ExpectInParts(60, "ENTRY e { x = c64[9,30] parameter(0)  ROOT r = c64[9,30] fft(x), fft_type=FFT, fft_length={30} }");
  ExpectInParts(60,
                "ENTRY e { x = f32[9,30] parameter(0)  ROOT r = c64[9,16] fft(x), fft_type=RFFT, fft_length={30} }");
  ExpectInParts(40, R"(ENTRY e { a = f32[4,3,3] parameter(0)  b = f32[4,3,20] parameter(1)
  i = s32[4,3,3] iota(), iota_dimension=1  j = s32[4,3,3] iota(), iota_dimension=2
  d = pred[4,3,3] compare(i, j), direction=EQ  h = f32[] constant(3)  f = f32[4,3,3] broadcast(h), dimensions={}  l = f32[4,3,3] select(d, f, a)
  ROOT r = f32[4,3,20] triangular-solve(l, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE })");
}

TEST(GiantShapesTest, ScattersFallIntoParts) {
  const auto scatter = [](const std::string& shapes, const std::string& how) {
    return "put { a = s32[] parameter(0)  b = s32[] parameter(1)  t = s32[] constant(3)  m = s32[] multiply(a, t)\n"
           "  ROOT r = s32[] add(m, b) }\nENTRY e { " +
           shapes + "  ROOT r = s32[20,10] scatter(x, i, u), " + how + ", to_apply=put }";
  };
  std::vector<Literal> rows = {RandomLiteral(Shape(ElementType::kS32, {20, 10}), 1),
                               Literal::FromVector<int32_t>(Shape(ElementType::kS32, {6, 1}), {{3, 19, -1, 20, 3, 7}}),
                               RandomLiteral(Shape(ElementType::kS32, {6, 10}), 2)};
  ExpectInParts(45,
                scatter("x = s32[20,10] parameter(0)  i = s32[6,1] parameter(1)  u = s32[6,10] parameter(2)",
                        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                        "index_vector_dim=1"),
                rows);
  // Windows over the parts' edges and the array's; bytes that wrap are out of reach.
  std::vector<Literal> windows = {
      rows[0], Literal::FromVector<int64_t>(Shape(ElementType::kS64, {4, 2}), {{-1, 8, 4, 1, INT64_MIN, 3, 5, 0}}),
      RandomLiteral(Shape(ElementType::kS32, {4, 3, 3}), 3)};
  ExpectInParts(60,
                scatter("x = s32[20,10] parameter(0)  i = s64[4,2] parameter(1)  u = s32[4,3,3] parameter(2)",
                        "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
                        "index_vector_dim=1"),
                windows);
  // More updates than that.
  std::vector<Literal> many = {rows[0], RandomLiteral(Shape(ElementType::kS32, {500}), 4),
                               RandomLiteral(Shape(ElementType::kS32, {500, 10}), 5)};
  ExpectInParts(2000,
                scatter("x = s32[20,10] parameter(0)  i = s32[500] parameter(1)  u = s32[500,10] parameter(2)",
                        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                        "index_vector_dim=1"),
                many);
}

// What no slice makes smaller: a row is sorted in blocks.
TEST(GiantShapesTest, OneRowIsSortedInBlocks) {
  const std::string less =
      "less { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n";
  for (int64_t n : {61, 90, 211}) {
    ExpectInParts(
        60,
        less +
            fmt::format(
                "ENTRY e {{ x = s32[{0}] parameter(0)  ROOT r = s32[{0}] sort(x), dimensions={{0}}, to_apply=less }}",
                n));
  }
  // Equal keys keep their order, here over blocks.
  ExpectInParts(60,
                R"(less { a = s32[] parameter(0)  b = s32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { x = s32[3,1,157] parameter(0)  t = s32[] constant(5)  five = s32[3,1,157] broadcast(t), dimensions={}
  k = s32[3,1,157] remainder(x, five)  y = s32[3,1,157] iota(), iota_dimension=2
  ROOT r = (s32[3,1,157], s32[3,1,157]) sort(k, y), dimensions={2}, to_apply=less, is_stable=true })");
}

TEST(GiantShapesTest, TheBestOfOneRowAreThoseOfItsPartsBest) {
  const std::string row =
      "ENTRY e { x = f32[2,251] parameter(0)  ROOT r = (f32[2,K], s32[2,K]) topk(x), k=K, largest=WHICH }";
  for (const char* k : {"1", "7", "40", "251"}) {
    for (const char* which : {"true", "false"}) {
      std::string text = std::regex_replace(row, std::regex("K"), k);
      ExpectInParts(60, std::regex_replace(text, std::regex("WHICH"), which));
    }
  }
  // Equals: the first.
  ExpectInParts(60,
                R"(ENTRY e { x = s8[300] parameter(0)  t = s8[] constant(3)  three = s8[300] broadcast(t), dimensions={}
  y = s8[300] remainder(x, three)  ROOT r = (s8[17], s32[17]) topk(y), k=17, largest=true })");
}

TEST(GiantShapesTest, OneMatrixIsFactoredInQuarters) {
  const auto factor = [](const std::string& type, const std::string& shape, const std::string& batch, bool lower) {
    const std::string last = batch.empty() ? "0" : "1", matrix = type + shape;
    const std::string dims =
        batch.empty() ? "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
                      : "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}";
    const std::string conjugate = type[0] == 'c'
                                      ? "  re = f32" + shape + " real(a)  im = f32" + shape + " imag(a)  ni = f32" +
                                            shape + " negate(im)  h = " + matrix + " complex(re, ni)"
                                      : "  h = " + matrix + " copy(a)";
    const std::string kept = lower ? "GE" : "LE";
    return "ENTRY e { a = " + matrix + " parameter(0)" + conjugate + "  p = " + matrix + " dot(a, h), " + dims +
           "  i = s32" + shape + " iota(), iota_dimension=" + last + "  j = s32" + shape +
           " iota(), iota_dimension=" + (batch.empty() ? "1" : "2") + "  d = pred" + shape +
           " compare(i, j), direction=EQ  n = " + type + "[] constant(" + (type[0] == 'c' ? "(200, 0)" : "200") +
           ")  s = " + matrix + " broadcast(n), dimensions={}  z = " + type + "[] constant(" +
           (type[0] == 'c' ? "(0, 0)" : "0") + ")  o = " + matrix + " broadcast(z), dimensions={}  g = " + matrix +
           " select(d, s, o)  m = " + matrix + " add(p, g)  c = " + matrix +
           " cholesky(m), lower=" + (lower ? "true" : "false") + "  t = pred" + shape +
           " compare(i, j), direction=" + kept + "  ROOT r = " + matrix + " select(t, c, o) }";
  };
  for (bool lower : {false, true}) {
    ExpectInParts(60, factor("f32", "[17,17]", "", lower));
    ExpectInParts(60, factor(lower ? "f64" : "c64", "[2,9,9]", "2", lower));
  }
  ExpectInParts(60, factor("bf16", "[9,9]", "", true));
}

TEST(GiantShapesTest, OneMatrixIsSolvedInQuarters) {
  const char* transpose[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  for (int flags = 0; flags < 24; ++flags) {
    const bool left = flags % 2 == 1, lower = flags / 2 % 2 == 1, unit = flags / 4 % 2 == 1, complex = flags >= 16;
    ExpectInParts(60, fmt::format(R"(ENTRY e {{ x = {0}[13,13] parameter(0)  b = {0}{1} parameter(1)
  i = s32[13,13] iota(), iota_dimension=0  j = s32[13,13] iota(), iota_dimension=1  d = pred[13,13] compare(i, j), direction=EQ
  h = {0}[] constant({2})  f = {0}[13,13] broadcast(h), dimensions={{}}  q = {0}[] constant({3})  s = {0}[13,13] broadcast(q), dimensions={{}}
  y = {0}[13,13] multiply(x, s)  l = {0}[13,13] select(d, f, y)
  ROOT r = {0}{1} triangular-solve(l, b), left_side={4}, lower={5}, unit_diagonal={6}, transpose_a={7} }})",
                                  complex ? "c64" : "f32", left ? "[13,3]" : "[3,13]", complex ? "(3, 1)" : "3",
                                  complex ? "(0.1, 0.1)" : "0.1", left, lower, unit, transpose[flags / 8]));
  }
}

TEST(GiantShapesTest, OneTransformIsMadeOfSmallerOnes) {
  const auto transform = [](const std::string& from, const std::string& to, const std::string& kind,
                            const std::string& lengths) {
    return "ENTRY e { x = " + from + " parameter(0)  ROOT r = " + to + " fft(x), fft_type=" + kind + ", fft_length={" +
           lengths + "} }";
  };
  // 122 = 2 * 61, whose second factor is prime and too long as well; 101 is prime.
  for (const char* n : {"64", "210", "122", "101"}) {
    const std::string line = "c64[" + std::string(n) + "]";
    for (const char* kind : {"FFT", "IFFT"}) ExpectInParts(60, transform(line, line, kind, n));
    if (n[0] == '1') continue;
    const std::string half = "c64[" + std::to_string(std::stoi(n) / 2 + 1) + "]", real = "f32[" + std::string(n) + "]";
    ExpectInParts(60, transform(real, half, "RFFT", n));
    ExpectInParts(60, transform(half, real, "IRFFT", n));
  }
  for (const char* kind : {"FFT", "IFFT"}) {
    ExpectInParts(60, transform("c64[3,5,70]", "c64[3,5,70]", kind, "3,5,70"));
    ExpectInParts(60, transform("c64[2,12,10]", "c64[2,12,10]", kind, "12,10"));
  }
  ExpectInParts(60, transform("f64[1,70]", "c128[1,36]", "RFFT", "70"));
  ExpectInParts(60, transform("f32[70,9]", "c64[70,5]", "RFFT", "70,9"));
  ExpectInParts(60, transform("c64[70,5]", "f32[70,9]", "IRFFT", "70,9"));
}

TEST(GiantShapesTest, TheWindowOfOneElementIsAReduction) {
  const std::string add = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  const auto window = [&](const std::string& x, const std::string& r, const std::string& how) {
    return add + "ENTRY e { x = f32" + x + " parameter(0)  z = f32[] parameter(1)  ROOT r = f32" + r +
           " reduce-window(x, z), window={" + how + "}, to_apply=add }";
  };
  ExpectInParts(60, window("[100]", "[3]", "size=98"));
  ExpectInParts(60, window("[9,70]", "[2,3]", "size=8x68 pad=0_0x1_-1"));
  ExpectInParts(60, window("[100]", "[4]", "size=99 pad=3_-2 lhs_dilate=2 rhs_dilate=2"));
}

TEST(GiantShapesTest, RunningSumsOfNarrowFloatsRoundOnce) {
  const auto running = [](const std::string& combine) {
    return "f { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT r = bf16[] " + combine +
           " }\nENTRY e { x = bf16[200] parameter(0)  z = bf16[] constant(ID)  ROOT r = bf16[200] reduce-window(x, z), "
           "window={size=200 pad=199_0}, to_apply=f }";
  };
  ExpectInParts(60, std::regex_replace(running("add(a, b)"), std::regex("ID"), "0"));
  ExpectInParts(60, std::regex_replace(running("maximum(a, b)"), std::regex("ID"), "-inf"));
}

TEST(GiantShapesTest, WindowsApartScatterInParts) {
  ExpectInParts(60,
                R"(ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[200] parameter(0)  s = f32[50] parameter(1)  z = f32[] constant(0)
  ROOT r = f32[200] select-and-scatter(x, s, z), window={size=4 stride=4}, select=ge, scatter=add })");
}

// A row of more blocks than anyone waits for.
TEST(GiantShapesTest, ARowOfTooManyBlocksIsSortedByTheHost) {
  const auto module = ParseModule(R"(less { a = s32[] parameter(0)  b = s32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { x = s32[70] parameter(0)  ROOT r = s32[70] sort(x), dimensions={0}, to_apply=less })");
  ASSERT_NE(module, nullptr);
  vulkan::OpenOptions options = TestOptions(BindingMode::kDescriptors);
  options.max_elements = 2;
  auto device = OpenTestDevice(options);
  ASSERT_TRUE(device.ok()) << device.status().message();
  const auto client = MakeTestClient(*device);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ASSERT_EQ((*executable)->fallbacks().size(), 1u);
  EXPECT_EQ((*executable)->fallbacks()[0].reason, "s32[70] has 70 elements, more than the 2 that a kernel can index");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
