// dynamic-slice, gather and dynamic-update-slice on the device against the CPU reference.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"
#include "tests/support/index_arguments.h"

namespace VXLA_NAMESPACE::testing {
namespace indexing_test {

using enum ElementType;

// ---- dynamic-slice and gather -------------------------------------------------------------------------------------

TEST(DynamicSliceTest, EveryType) {
  for (const ElementType type : ArrayTypes()) {
    const Shape shape(type, {7, 10});
    RunBoth(fmt::format("ENTRY e {{ t = {0}[7,10] parameter(0)  i = s32[] parameter(1)  j = s32[] parameter(2)\n"
                        "ROOT r = {0}[3,4] dynamic-slice(t, i, j), dynamic_slice_sizes={{3,4}} }}",
                        ElementTypeName(type)),
            {RandomLiteral(shape, 3), Literal::ScalarInt(kS32, 2), Literal::ScalarInt(kS32, 5)}, Exactly(1));
  }
}

TEST(DynamicSliceTest, StartsOfEveryTypeAreClamped) {
  for (const ElementType type : kIndexTypes) {
    for (const int64_t start : {int64_t{-100}, int64_t{-1}, int64_t{0}, int64_t{6}, int64_t{100}, MaxSigned(type)}) {
      if (start < 0 && IsUnsigned(type)) continue;
      RunBoth(fmt::format("ENTRY e {{ t = f32[9] parameter(0)  i = {}[] parameter(1)\n"
                          "ROOT r = f32[3] dynamic-slice(t, i), dynamic_slice_sizes={{3}} }}",
                          ElementTypeName(type)),
              {RandomLiteral(Shape(kF32, {9}), 3), Literal::ScalarInt(type, start)}, Exactly(1));
    }
  }
  RunBoth(
      "ENTRY e { t = f32[9] parameter(0)  i = u64[] parameter(1)\n"
      "ROOT r = f32[3] dynamic-slice(t, i), dynamic_slice_sizes={3} }",
      {RandomLiteral(Shape(kF32, {9}), 3), Literal::ScalarInt(kU64, -1)}, Exactly(1));
}

TEST(DynamicSliceTest, EveryRankAndEmptyOnes) {
  RunBoth("ENTRY e { t = f32[] parameter(0)  ROOT r = f32[] dynamic-slice(t), dynamic_slice_sizes={} }",
          {RandomLiteral(Shape(kF32), 1)}, Exactly());
  RunBoth(
      "ENTRY e { t = f32[5,3] parameter(0)  i = s32[] parameter(1)\n"
      "ROOT r = f32[0,3] dynamic-slice(t, i, i), dynamic_slice_sizes={0,3} }",
      {RandomLiteral(Shape(kF32, {5, 3}), 1), Literal::ScalarInt(kS32, 1)}, Exactly());
  RunBoth(
      "ENTRY e { t = f32[3,2,3,2,3,67] parameter(0)  i = s32[6] parameter(1)\n"
      "ROOT r = f32[2,1,3,2,2,61] dynamic-slice(t, i), dynamic_slice_sizes={2,1,3,2,2,61} }",
      {RandomLiteral(Shape(kF32, {3, 2, 3, 2, 3, 67}), 1), Indices(Shape(kS32, {6}), -1, 5)}, Exactly(1));
}

std::string RowsOf(const std::string& type, const std::string& index_type) {
  return fmt::format(
      "ENTRY e {{ t = {0}[11,6] parameter(0)  i = {1}[9] parameter(1)\n"
      "ROOT r = {0}[9,6] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
      "index_vector_dim=1, slice_sizes={{1,6}} }}",
      type, index_type);
}

TEST(GatherTest, EveryType) {
  for (const ElementType type : ArrayTypes()) {
    RunBoth(RowsOf(std::string(ElementTypeName(type)), "s32"),
            {RandomLiteral(Shape(type, {11, 6}), 3), Indices(Shape(kS32, {9}), -2, 15)}, Exactly(1));
  }
}

TEST(GatherTest, IndicesOfEveryTypeAreClamped) {
  for (const ElementType type : kIndexTypes) {
    RunBoth(RowsOf("f32", std::string(ElementTypeName(type))),
            {RandomLiteral(Shape(kF32, {11, 6}), 3), Indices(Shape(type, {9}), -4, 25)}, Exactly(1));
  }
}

TEST(GatherTest, DimensionsInAnyOrder) {
  // Index vectors in the middle, two started dimensions in the other order, windows spread over the result.
  RunBoth(
      "ENTRY e { t = f32[5,6,7] parameter(0)  i = s32[3,2,4] parameter(1)\n"
      "ROOT r = f32[2,3,4,3] gather(t, i), offset_dims={0,3}, collapsed_slice_dims={1}, start_index_map={2,0}, "
      "index_vector_dim=1, slice_sizes={2,1,3} }",
      {RandomLiteral(Shape(kF32, {5, 6, 7}), 3), Indices(Shape(kS32, {3, 2, 4}), -1, 8)}, Exactly(1));
  // Batching dimensions.
  RunBoth(
      "ENTRY e { t = f32[4,9,3] parameter(0)  i = s64[5,4] parameter(1)\n"
      "ROOT r = f32[5,4,3] gather(t, i), offset_dims={2}, collapsed_slice_dims={1}, operand_batching_dims={0}, "
      "start_indices_batching_dims={1}, start_index_map={1}, index_vector_dim=2, slice_sizes={1,1,3} }",
      {RandomLiteral(Shape(kF32, {4, 9, 3}), 3), Indices(Shape(kS64, {5, 4}), -1, 12)}, Exactly(1));
  RunBoth(
      "ENTRY e { t = f32[4,9] parameter(0)  i = s32[0,1] parameter(1)\n"
      "ROOT r = f32[0,9] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1,9} }",
      {RandomLiteral(Shape(kF32, {4, 9}), 3), Literal(Shape(kS32, {0, 1}))}, Exactly());
}

TEST(GatherTest, FusesWithWhatReadsItAndWithItsIndices) {
  const std::vector<Literal> arguments = {RandomLiteral(Shape(kF32, {11, 32}), 3), Indices(Shape(kS32, {40}), -2, 15),
                                          RandomLiteral(Shape(kF32, {32, 8}), 4)};
  const std::string head =
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e { t = f32[11,32] parameter(0)  i = s32[40] parameter(1)  w = f32[32,8] parameter(2)\n"
      "z = f32[] constant(0)  one = s32[] constant(1)  ones = s32[40] broadcast(one), dimensions={}\n";
  const std::string computed = head + "j = s32[40] subtract(i, ones)\n", plain = head + "j = s32[40] copy(i)\n";
  const std::string gather =
      "g = f32[40,32] gather(t, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1,32}\n";
  RunOptions one;
  one.dispatches = 1;
  RunBoth(computed + gather + "ROOT r = f32[40] reduce(g, z), dimensions={1}, to_apply=add }", arguments, one);
  RunBoth(computed + gather +
              "s = f32[40,32] multiply(g, g)  n = f32[40] reduce(s, z), dimensions={1}, to_apply=add\n"
              "b = f32[40,32] broadcast(n), dimensions={0}  ROOT r = f32[40,32] divide(g, b) }",
          arguments, one);
  RunBoth(plain + gather + "ROOT r = f32[40,8] dot(g, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
          arguments, one);
  RunBoth(plain + gather + "ROOT r = f32[40,16] reduce-window(g, z), window={size=1x2 stride=1x2}, to_apply=add }",
          arguments, one);
  RunBoth(computed + gather +
              "p = f32[42,32] pad(g, z), padding=1_1x0_0  c = f32[82,32] concatenate(g, p), dimensions={0}\n"
              "ROOT r = f32[32,82] transpose(c), dimensions={1,0} }",
          arguments);
}

// Large enough for runs of neighbours on software drivers, in whole workgroups and not.
TEST(GatherTest, ManyRowsAllOverAnArray) {
  for (const int64_t rows : {8192, 8201}) {
    const Shape table(kF32, {3000, 128}), updated(kF32, {rows, 128});
    RunBoth(fmt::format("ENTRY e {{ t = f32[3000,128] parameter(0)  i = s32[{0}] parameter(1)\n"
                        "ROOT r = f32[{0},128] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
                        "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,128}} }}",
                        rows),
            {RandomLiteral(table, 3), Indices(Shape(kS32, {rows}), -5, 3010)}, Exactly(1));
    // 4099 and the number of rows have no common factor.
    RunBoth(fmt::format("sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}\n"
                        "ENTRY e {{ t = f32[{0},128] parameter(0)  u = f32[{0},128] parameter(1)\n"
                        "n = s32[{0}] iota(), iota_dimension=0  f = s32[] constant(4099)  p = s32[] constant({0})\n"
                        "fs = s32[{0}] broadcast(f), dimensions={{}}  ps = s32[{0}] broadcast(p), dimensions={{}}\n"
                        "m = s32[{0}] multiply(n, fs)  i = s32[{0}] remainder(m, ps)\n"
                        "ROOT r = f32[{0},128] scatter(t, i, u), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                        "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, unique_indices=true, to_apply=sum }}",
                        rows),
            {RandomLiteral(updated, 3), RandomLiteral(updated, 4)}, Exactly());
  }
}

// ---- dynamic-update-slice -----------------------------------------------------------------------------------------

TEST(DynamicUpdateSliceTest, EveryType) {
  for (const ElementType type : ArrayTypes()) {
    RunBoth(
        fmt::format("ENTRY e {{ t = {0}[7,10] parameter(0)  u = {0}[3,4] parameter(1)  i = s32[] parameter(2)\n"
                    "ROOT r = {0}[7,10] dynamic-update-slice(t, u, i, i) }}",
                    ElementTypeName(type)),
        {RandomLiteral(Shape(type, {7, 10}), 3), RandomLiteral(Shape(type, {3, 4}), 4), Literal::ScalarInt(kS32, 3)},
        Exactly(1));
  }
}

TEST(DynamicUpdateSliceTest, StartsAreClampedAndShapesMayBeEmptyOrWhole) {
  const Literal t = RandomLiteral(Shape(kF32, {9}), 3), u = RandomLiteral(Shape(kF32, {4}), 4);
  for (const ElementType type : kIndexTypes) {
    for (const int64_t start : {int64_t{-100}, int64_t{3}, int64_t{100}}) {
      if (start < 0 && IsUnsigned(type)) continue;
      RunBoth(fmt::format("ENTRY e {{ t = f32[9] parameter(0)  u = f32[4] parameter(1)  i = {}[] parameter(2)\n"
                          "ROOT r = f32[9] dynamic-update-slice(t, u, i) }}",
                          ElementTypeName(type)),
              {t, u, Literal::ScalarInt(type, start)}, Exactly(1));
    }
  }
  for (const int size : {0, 9}) {
    RunBoth(fmt::format("ENTRY e {{ t = f32[9] parameter(0)  u = f32[{}] parameter(1)  i = s32[] parameter(2)\n"
                        "ROOT r = f32[9] dynamic-update-slice(t, u, i) }}",
                        size),
            {t, RandomLiteral(Shape(kF32, {size}), 4), Literal::ScalarInt(kS32, 1)}, Exactly());
  }
  RunBoth("ENTRY e { t = f32[] parameter(0)  u = f32[] parameter(1)  ROOT r = f32[] dynamic-update-slice(t, u) }",
          {RandomLiteral(Shape(kF32), 3), RandomLiteral(Shape(kF32), 4)}, Exactly());
}

TEST(DynamicUpdateSliceTest, WhatIsReadBesidesStays) {
  // The operand lives on; is the update as well; is what the update is computed from; is a constant.
  const std::vector<Literal> arguments = {RandomLiteral(Shape(kF32, {4096}), 3), Literal::ScalarInt(kS32, 17)};
  const std::string head = "ENTRY e { p = f32[4096] parameter(0)  i = s32[] parameter(1)  t = f32[4096] negate(p)\n";
  RunBoth(head +
              "u = f32[1024] slice(p), slice={[5:1029]}  d = f32[4096] dynamic-update-slice(t, u, i)\n"
              "ROOT r = f32[4096] add(d, t) }",
          arguments, Exactly());
  RunBoth(head + "ROOT r = f32[4096] dynamic-update-slice(t, t, i) }", arguments, Exactly());
  RunBoth(head +
              "u = f32[1024] dynamic-slice(t, i), dynamic_slice_sizes={1024}  v = f32[1024] reverse(u), "
              "dimensions={0}\nROOT r = f32[4096] dynamic-update-slice(t, v, i) }",
          arguments, Exactly());
  RunBoth(head +
              "z = f32[] constant(2)  b = f32[4096] broadcast(z), dimensions={}  u = f32[96] slice(t), "
              "slice={[0:96]}\nd = f32[4096] dynamic-update-slice(b, u, i)  ROOT r = f32[4096] add(d, b) }",
          arguments, Exactly());
}

constexpr const char* kCache = R"(
body { s = (s32[], f32[2048,16], f32[16]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  c = f32[2048,16] get-tuple-element(s), index=1  x = f32[16] get-tuple-element(s), index=2
  z = s32[] constant(0)  one = s32[] constant(1)  j = s32[] add(i, one)
  y = f32[16] add(x, x)  u = f32[1,16] reshape(y)  d = f32[2048,16] dynamic-update-slice(c, u, i, z)
  row = f32[1,16] dynamic-slice(d, i, z), dynamic_slice_sizes={1,16}  v = f32[16] reshape(row)
  half = f32[] constant(0.5)  h = f32[16] broadcast(half), dimensions={}  w = f32[16] multiply(v, h)
  ROOT t = (s32[], f32[2048,16], f32[16]) tuple(j, d, w) }
more { s = (s32[], f32[2048,16], f32[16]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { p = f32[2048,16] parameter(0)  x = f32[16] parameter(1)  i = s32[] constant(0)
  c = f32[2048,16] negate(p)  s = (s32[], f32[2048,16], f32[16]) tuple(i, c, x)
  ROOT w = (s32[], f32[2048,16], f32[16]) while(s), condition=more, body=body })";

TEST(DynamicUpdateSliceTest, ALoopWritesTheRowAndNotTheCache) {
  RunBoth(kCache, {RandomLiteral(Shape(kF32, {2048, 16}), 3), RandomLiteral(Shape(kF32, {16}), 4)}, Exactly());
  const auto module = ParseModule(kCache);
  ASSERT_NE(module, nullptr);
  auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  // Small values of the loop's state may be copied; the cache is not.
  for (const Segment& segment : (*executable)->plan().segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    if (gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands) {
      const auto* copy = std::get_if<CopyBytes>(&command);
      if (copy != nullptr) {
        EXPECT_LT(copy->source.size_bytes, 2048 * 16 * 4);
      }
    }
  }
}

// What the steps of a program move, the last first.
std::vector<int64_t> MovedBytes(const std::string& text) {
  const auto module = ParseModule(text);
  VXLA_CHECK(module != nullptr, "the text of a test");
  auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
  VXLA_CHECK(executable.ok(), executable.status().message());
  std::vector<int64_t> bytes;
  for (const Step& step : (*executable)->plan().steps) bytes.insert(bytes.begin(), step.MovedBytes());
  return bytes;
}

TEST(MovedBytesTest, WhatIsReadAndChangedOfAnArrayCounts) {
  using ::testing::ElementsAre;
  using ::testing::Le;
  // 4 rows of 16 floats are looked up and written; as many numbers are read.
  EXPECT_THAT(MovedBytes("ENTRY e { t = f32[5000,16] parameter(0)  i = s32[4] parameter(1)\n"
                         "g = f32[4,16] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                         "index_vector_dim=1, slice_sizes={1,16}  ROOT r = f32[4,16] negate(g) }"),
              ElementsAre(4 * 16 * 4 * 2 + 4 * 4));
  // A slice behind what keeps positions, read beside the whole of another array.
  EXPECT_THAT(MovedBytes("ENTRY e { t = f32[5000,16] parameter(0)  u = f32[8,16] parameter(1)\n"
                         "n = f32[5000,16] negate(t)  s = f32[8,16] slice(n), slice={[3:11], [0:16]}\n"
                         "ROOT r = f32[8,16] add(s, u) }"),
              ElementsAre(8 * 16 * 4 * 3));
  // A cache of 2048 positions whose step writes one, after it was computed as a whole.
  const std::vector<int64_t> update = MovedBytes(
      "ENTRY e { p = f32[2048,16] parameter(0)  u = f32[1,16] parameter(1)  i = s32[] parameter(2)\n"
      "z = s32[] constant(0)  c = f32[2048,16] negate(p)\n"
      "ROOT r = f32[2048,16] dynamic-update-slice(c, u, i, z) }");
  EXPECT_THAT(update, ElementsAre(Le(16 * 4 * 3 + 8), 2 * 2048 * 16 * 4));
  // Eight elements change; two times as many words say which and by how much.
  EXPECT_THAT(MovedBytes("f { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }\n"
                         "ENTRY e { p = s32[2048] parameter(0)  i = s32[8] parameter(1)  u = s32[8] parameter(2)\n"
                         "ROOT r = s32[2048] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, "
                         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f }"),
              ElementsAre(8 * 4 * 4));
}

}  // namespace indexing_test
}  // namespace VXLA_NAMESPACE::testing
