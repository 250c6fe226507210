// Ops that move elements, against the definition applied index by index.
#include <algorithm>
#include <functional>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using enum ElementType;
using Index = std::vector<int64_t>;

Index DimensionsOf(const Literal& x) { return {x.shape().dimensions().begin(), x.shape().dimensions().end()}; }

// Every element of `got` is the element of `from` at map(index).
void ExpectMapped(const Literal& got, const Literal& from, const std::function<Index(Index)>& map) {
  const Index sizes = DimensionsOf(got), source = DimensionsOf(from);
  for (int64_t i = 0; i < got.element_count(); ++i) {
    ASSERT_EQ(got.GetInt(i), from.GetInt(PositionOf(map(IndexOf(i, sizes)), source)))
        << Text(got.shape()) << " at " << i;
  }
}

Literal Counted(const Index& dimensions, ElementType type = kS32) {
  Literal x(Shape(type, dimensions));
  for (int64_t i = 0; i < x.element_count(); ++i) x.SetInt(i, i + 1);
  return x;
}

Literal Op(const std::string& call, const Literal& x, const Index& out) {
  return RunText(Entry("p = " + Text(x.shape()) +
                       " parameter(0)\nROOT r = " + Text(Shape(x.shape().element_type(), out)) + " " + call),
                 {x});
}

TEST(DataMovementTest, TransposeOfAnyRank) {
  const std::vector<std::pair<Index, std::vector<int64_t>>> cases = {{{67, 71}, {1, 0}},
                                                                     {{2, 3, 5, 7}, {3, 1, 0, 2}},
                                                                     {{2, 3, 2, 3, 2, 5}, {5, 0, 4, 1, 3, 2}},
                                                                     {{5, 1, 7}, {2, 0, 1}},
                                                                     {{0, 3}, {1, 0}},
                                                                     {{}, {}},
                                                                     {{3, 130, 67}, {0, 2, 1}},
                                                                     {{33, 34, 35}, {2, 1, 0}}};
  for (ElementType type : {kS8, kS16, kS32, kS64}) {
    for (const auto& [sizes, permutation] : cases) {
      const Literal x = Counted(sizes, type);
      Index out;
      for (int64_t d : permutation) out.push_back(sizes[static_cast<size_t>(d)]);
      const Literal y = Op("transpose(p), dimensions={" + JoinInts(permutation) + "}", x, out);
      ExpectMapped(y, x, [&order = permutation](Index i) {
        Index from(i.size());
        for (size_t k = 0; k < i.size(); ++k) from[static_cast<size_t>(order[k])] = i[k];
        return from;
      });
    }
  }
}

TEST(DataMovementTest, BroadcastPutsOperandDimensionsWhereTold) {
  const Literal x = Counted({3, 5});
  ExpectMapped(Op("broadcast(p), dimensions={1,3}", x, {2, 3, 4, 5}), x, [](Index i) { return Index{i[1], i[3]}; });
  const Literal scalar = Counted({});
  ExpectMapped(Op("broadcast(p), dimensions={}", scalar, {7, 11}), scalar, [](Index) { return Index{}; });
}

TEST(DataMovementTest, SliceWithStrides) {
  const Literal x = Counted({9, 11});
  ExpectMapped(Op("slice(p), slice={[1:8:3], [2:11:2]}", x, {3, 5}), x, [](Index i) {
    return Index{1 + 3 * i[0], 2 + 2 * i[1]};
  });
  EXPECT_EQ(Op("slice(p), slice={[4:4], [0:11]}", x, {0, 11}).element_count(), 0);
}

TEST(DataMovementTest, ReverseSomeDimensions) {
  const Literal x = Counted({3, 4, 5});
  ExpectMapped(Op("reverse(p), dimensions={0,2}", x, {3, 4, 5}), x, [](Index i) {
    return Index{2 - i[0], i[1], 4 - i[2]};
  });
}

TEST(DataMovementTest, ConcatenateAlongAMiddleDimension) {
  const Literal a = Counted({2, 3, 5}), b = Counted({2, 0, 5}), c = Counted({2, 4, 5});
  const Literal y =
      RunText(Entry("a = s32[2,3,5] parameter(0)\nb = s32[2,0,5] parameter(1)\nc = s32[2,4,5] parameter(2)\n"
                    "ROOT r = s32[2,7,5] concatenate(a, b, c), dimensions={1}"),
              {a, b, c});
  for (int64_t i = 0; i < y.element_count(); ++i) {
    Index index = IndexOf(i, {2, 7, 5});
    const bool first = index[1] < 3;
    if (!first) index[1] -= 3;
    ASSERT_EQ(y.GetInt(i), first ? a.GetInt(PositionOf(index, {2, 3, 5})) : c.GetInt(PositionOf(index, {2, 4, 5})));
  }
}

// low_high_interior by dimension, on sizes n.
void CheckPad(const Index& n, const std::vector<Index>& padding) {
  const Literal x = Counted(n);
  Index out;
  std::string text;
  for (size_t d = 0; d < n.size(); ++d) {
    out.push_back(padding[d][0] + padding[d][1] + n[d] + std::max<int64_t>(n[d] - 1, 0) * padding[d][2]);
    text += (d ? "x" : "") + std::to_string(padding[d][0]) + "_" + std::to_string(padding[d][1]) + "_" +
            std::to_string(padding[d][2]);
  }
  const Literal y = RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nv = s32[] constant(-9)\nROOT r = " +
                                  Text(Shape(kS32, out)) + " pad(p, v), padding=" + text),
                            {x});
  ASSERT_EQ(DimensionsOf(y), out);
  for (int64_t i = 0; i < y.element_count(); ++i) {
    Index index = IndexOf(i, out);
    bool inside = true;
    for (size_t d = 0; d < n.size(); ++d) {
      const int64_t at = index[d] - padding[d][0], step = padding[d][2] + 1;
      inside = inside && at >= 0 && at % step == 0 && at / step < n[d];
      index[d] = at / step;
    }
    ASSERT_EQ(y.GetInt(i), inside ? x.GetInt(PositionOf(index, n)) : -9) << text << " at " << i;
  }
}

TEST(DataMovementTest, PadWithNegativeAndInteriorPadding) {
  CheckPad({5}, {{2, 3, 0}});
  CheckPad({5}, {{-2, 1, 2}});
  CheckPad({5}, {{-3, -4, 3}});
  CheckPad({7, 4}, {{-1, 2, 1}, {3, -2, 2}});
  CheckPad({3, 4, 5}, {{1, 0, 0}, {0, 0, 1}, {-1, -1, 0}});
  CheckPad({5}, {{-5, 7, 0}});
  CheckPad({5}, {{7, -9, 0}});
  CheckPad({0}, {{2, 1, 3}});
}

TEST(DataMovementTest, IotaCountsAlongOneDimension) {
  const Literal y = RunText(Entry("ROOT r = u8[3,4,5] iota(), iota_dimension=1"), {});
  for (int64_t i = 0; i < 60; ++i) EXPECT_EQ(y.GetInt(i), i / 5 % 4);
  EXPECT_THAT(Doubles(RunText(Entry("ROOT r = bf16[3] iota(), iota_dimension=0"), {})), ElementsAre(0, 1, 2));
  EXPECT_EQ(RunText(Entry("ROOT r = c64[3] iota(), iota_dimension=0"), {}).GetComplex(2), std::complex<double>(2, 0));
}

TEST(DataMovementTest, BitcastReadsMemoryAsLaidOut) {
  // {0,1}: column-major. Physical order of the operand is its transpose.
  const Literal x = Counted({2, 3});
  const auto run = [&](const std::string& from, const std::string& to) {
    return Integers(RunText(Entry("p = " + from + " parameter(0)\nROOT r = " + to + " bitcast(p)"), {x}));
  };
  EXPECT_THAT(run("s32[2,3]{0,1}", "s32[3,2]{1,0}"), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run("s32[2,3]{1,0}", "s32[3,2]{0,1}"), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run("s32[2,3]{1,0}", "s32[6]{0}"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run("s32[2,3]{0,1}", "s32[2,3]{0,1}"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(RunText(Entry("p = s32[2,3]{0,1} parameter(0)\nROOT r = f32[6]{0} bitcast(p)"), {x}).element_count(), 6);
}

TEST(DataMovementTest, CopyToAnotherLayoutKeepsValuesForABitcastToSee) {
  const Literal x = Counted({2, 3});
  EXPECT_THAT(
      Integers(RunText(
          Entry("p = s32[2,3]{1,0} parameter(0)\nc = s32[2,3]{0,1} copy(p)\nROOT r = s32[6]{0} bitcast(c)"), {x})),
      ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(DataMovementTest, BitcastConvertSplitsAndJoinsTheLastDimension) {
  const Literal x = Ints(kU32, {2}, {0x04030201, 0x08070605});
  EXPECT_THAT(Integers(RunText(Entry("p = u32[2] parameter(0)\nROOT r = u8[2,4] bitcast-convert(p)"), {x})),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Integers(RunText(Entry("p = u32[2] parameter(0)\nROOT r = u64[] bitcast-convert(p)"), {x})),
              ElementsAre(0x0807060504030201));
  EXPECT_THAT(
      Integers(RunText(
          Entry("p = u32[2] parameter(0)\nq = u4[2,8] bitcast-convert(p)\nROOT r = u32[2] bitcast-convert(q)"), {x})),
      ElementsAre(0x04030201, 0x08070605));
  EXPECT_THAT(Integers(RunText(Entry("p = u8[2] parameter(0)\nROOT r = s4[2,2] bitcast-convert(p)"),
                               {Ints(kU8, {2}, {0x1f, 0x82})})),
              ElementsAre(-1, 1, 2, -8));
  EXPECT_THAT(Doubles(RunText(Entry("p = u16[1] parameter(0)\nROOT r = bf16[1] bitcast-convert(p)"),
                              {Ints(kU16, {1}, {0x3fc0})})),
              ElementsAre(1.5));
}

TEST(DataMovementTest, ReshapeKeepsRowMajorOrder) {
  EXPECT_THAT(Integers(Op("reshape(p)", Counted({2, 3}), {3, 2, 1})), ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
