// Dynamic slices, gather and scatter against the specification's index arithmetic.
#include <algorithm>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace indexing_test {

using ::testing::ElementsAre;
using enum ElementType;
using Index = std::vector<int64_t>;

bool Has(const Index& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

TEST(DynamicSliceTest, StartsAreClamped) {
  const std::string text = Entry(
      "p = s32[5] parameter(0)\ni = s32[] parameter(1)\nROOT r = s32[3] dynamic-slice(p, i), dynamic_slice_sizes={3}");
  const Literal x = Ints(kS32, {5}, {1, 2, 3, 4, 5});
  for (const auto& [start, first] :
       std::vector<std::pair<int64_t, int64_t>>{{-7, 1}, {0, 1}, {2, 3}, {3, 3}, {100, 3}}) {
    EXPECT_THAT(Integers(RunText(text, {x, Ints(kS32, {}, {start})})), ElementsAre(first, first + 1, first + 2))
        << start;
  }
  const std::string huge = Entry(
      "p = s32[5] parameter(0)\ni = u64[] parameter(1)\nROOT r = s32[3] dynamic-slice(p, i), dynamic_slice_sizes={3}");
  EXPECT_THAT(Integers(RunText(huge, {x, Ints(kU64, {}, {-1})})), ElementsAre(3, 4, 5));
}

TEST(DynamicUpdateSliceTest, WritesAWindowAndLeavesTheOperandAlone) {
  const Literal x = Ints(kS32, {2, 3}, {1, 2, 3, 4, 5, 6}), u = Ints(kS32, {1, 2}, {-1, -2});
  const std::string text = Entry(
      "p = s32[2,3] parameter(0)\nu = s32[1,2] parameter(1)\ni = s32[] parameter(2)\nj = s32[] parameter(3)\n"
      "ROOT r = s32[2,3] dynamic-update-slice(p, u, i, j)");
  EXPECT_THAT(Integers(RunText(text, {x, u, Ints(kS32, {}, {1}), Ints(kS32, {}, {9})})),
              ElementsAre(1, 2, 3, 4, -1, -2));
  EXPECT_THAT(Integers(x), ElementsAre(1, 2, 3, 4, 5, 6));
}

struct GatherCase {
  Index operand, indices, result;
  Index offset_dims, collapsed, index_map, operand_batching, indices_batching, slice_sizes;
  int64_t vector_dim;
};

void CheckGather(const GatherCase& c) {
  const Literal x = Random(kS32, c.operand, 1);
  Literal s(Shape(kS32, c.indices));
  for (int64_t i = 0; i < s.element_count(); ++i) s.SetInt(i, i * 7 % 13 - 3);  // some outside: clamped
  std::string text = "p = " + Text(x.shape()) + " parameter(0)\ns = " + Text(s.shape()) +
                     " parameter(1)\nROOT r = " + Text(Shape(kS32, c.result)) + " gather(p, s), offset_dims={" +
                     JoinInts(c.offset_dims) + "}, collapsed_slice_dims={" + JoinInts(c.collapsed) +
                     "}, start_index_map={" + JoinInts(c.index_map) + "}";
  if (!c.operand_batching.empty()) {
    text += ", operand_batching_dims={" + JoinInts(c.operand_batching) + "}, start_indices_batching_dims={" +
            JoinInts(c.indices_batching) + "}";
  }
  text += ", index_vector_dim=" + std::to_string(c.vector_dim) + ", slice_sizes={" + JoinInts(c.slice_sizes) + "}";
  const Literal y = RunText(Entry(text), {x, s});
  ASSERT_EQ(y.element_count(), CountOf(c.result));
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const Index r = IndexOf(i, c.result);
    Index batch, offset;
    for (size_t d = 0; d < r.size(); ++d)
      (Has(c.offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(r[d]);
    Index full(c.operand.size(), 0);
    for (size_t k = 0; k < c.index_map.size(); ++k) {
      Index at = batch;
      if (c.vector_dim < static_cast<int64_t>(c.indices.size()))
        at.insert(at.begin() + c.vector_dim, static_cast<int64_t>(k));
      const size_t d = static_cast<size_t>(c.index_map[k]);
      full[d] = std::clamp<int64_t>(s.GetInt(PositionOf(at, c.indices)), 0, c.operand[d] - c.slice_sizes[d]);
    }
    for (size_t k = 0; k < c.operand_batching.size(); ++k) {
      const int64_t d = c.indices_batching[k];
      full[static_cast<size_t>(c.operand_batching[k])] = batch[static_cast<size_t>(d < c.vector_dim ? d : d - 1)];
    }
    size_t next = 0;
    for (size_t d = 0; d < full.size(); ++d) {
      if (!Has(c.collapsed, static_cast<int64_t>(d)) && !Has(c.operand_batching, static_cast<int64_t>(d)))
        full[d] += offset[next++];
    }
    ASSERT_EQ(y.GetInt(i), x.GetInt(PositionOf(full, c.operand))) << text << " at " << i;
  }
}

TEST(GatherTest, RowsWindowsTransposedResultsAndBatches) {
  CheckGather({{10, 5}, {7}, {7, 5}, {1}, {0}, {0}, {}, {}, {1, 5}, 1});
  CheckGather({{10, 5}, {7, 1}, {5, 7}, {0}, {0}, {0}, {}, {}, {1, 5}, 1});
  CheckGather({{6, 7, 8}, {2, 3, 4}, {2, 3, 4, 4, 2}, {1, 2, 4}, {}, {2, 0, 1}, {}, {}, {3, 4, 2}, 1});
  CheckGather({{6, 7, 8}, {4, 2}, {4, 3}, {1}, {0, 2}, {0, 2}, {}, {}, {1, 3, 1}, 1});
  CheckGather({{3, 9, 4}, {2, 3, 1}, {2, 3, 4}, {2}, {1}, {1}, {0}, {1}, {1, 1, 4}, 2});
  CheckGather({{10, 5}, {0}, {0, 5}, {1}, {0}, {0}, {}, {}, {1, 5}, 1});
}

std::string Combiner(const std::string& op, const std::string& type = "s32") {
  return "f { a = " + type + "[] parameter(0)\n b = " + type + "[] parameter(1)\n ROOT r = " + type + "[] " + op +
         "(a, b) }\n";
}

TEST(ScatterTest, RowsWithDuplicatesAndSkippedElements) {
  const Literal x = Ints(kS32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), s = Ints(kS32, {4}, {1, 1, -1, 4});
  const Literal u = Ints(kS32, {4, 2}, {10, 20, 30, 40, 50, 60, 70, 80});
  for (const std::string op : {"add", "multiply"}) {
    const Literal y =
        RunText(Entry("p = s32[4,2] parameter(0)\ns = s32[4] parameter(1)\nu = s32[4,2] parameter(2)\n"
                      "ROOT r = s32[4,2] scatter(p, s, u), update_window_dims={1}, inserted_window_dims={0}, "
                      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
                      Combiner(op)),
                {x, s, u});
    const bool adds = op == "add";
    EXPECT_THAT(Integers(y), ElementsAre(1, 2, adds ? 43 : 900, adds ? 64 : 3200, 5, 6, 7, 8));
  }
}

TEST(ScatterTest, WindowsPartlyOutsideLoseOnlyTheirOutsideElements) {
  const Literal y =
      RunText(Entry("p = s32[5] parameter(0)\ns = s32[2,1] parameter(1)\nu = s32[2,3] parameter(2)\n"
                    "ROOT r = s32[5] scatter(p, s, u), update_window_dims={1}, inserted_window_dims={}, "
                    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
                    "f { a = s32[] parameter(0)\n ROOT b = s32[] parameter(1) }\n"),
              {Ints(kS32, {5}, {0, 0, 0, 0, 0}), Ints(kS32, {2, 1}, {-1, 3}), Ints(kS32, {2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(Integers(y), ElementsAre(2, 3, 0, 4, 5));
}

TEST(ScatterTest, ManyFloatUpdatesOfOneElementRoundOnce) {
  const int64_t n = 4096;
  Literal u(Shape(kF32, {n})), s(Shape(kS32, {n, 1}));
  for (int64_t i = 0; i < n; ++i) u.SetDouble(i, 0x1p-25);
  const Literal y = RunText(Entry("p = f32[1] parameter(0)\ns = s32[4096,1] parameter(1)\nu = f32[4096] parameter(2)\n"
                                  "ROOT r = f32[1] scatter(p, s, u), update_window_dims={}, inserted_window_dims={0}, "
                                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
                                  Combiner("add", "f32")),
                            {Array(kF32, {1}, {1}), s, u});
  EXPECT_EQ(y.GetDouble(0), 1 + 0x1p-13);
}

TEST(ScatterTest, BatchingDimensionsPairOperandAndIndices) {
  // operand [3,4] with batch 0; indices [3,2,1]; updates [3,2]
  const Literal y =
      RunText(Entry("p = s32[3,4] parameter(0)\ns = s32[3,2,1] parameter(1)\nu = s32[3,2] parameter(2)\n"
                    "ROOT r = s32[3,4] scatter(p, s, u), update_window_dims={}, inserted_window_dims={1}, "
                    "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
                    "index_vector_dim=2, to_apply=f",
                    Combiner("add")),
              {Literal(Shape(kS32, {3, 4})), Ints(kS32, {3, 2, 1}, {0, 1, 2, 2, 3, 9}),
               Ints(kS32, {3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(Integers(y), ElementsAre(1, 2, 0, 0, 0, 0, 7, 0, 0, 0, 0, 5));
}

TEST(ScatterTest, VariadicComputation) {
  const char computation[] = R"(
f {
  a = s32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = f32[] parameter(3)
  s = s32[] subtract(a, c)
  m = f32[] maximum(b, d)
  ROOT t = (s32[], f32[]) tuple(s, m)
}
)";
  const Literal y = RunText(
      Entry("p = s32[3] parameter(0)\nq = f32[3] parameter(1)\ns = s32[2,1] parameter(2)\nu = s32[2] parameter(3)\n"
            "v = f32[2] parameter(4)\nROOT r = (s32[3], f32[3]) scatter(p, q, s, u, v), update_window_dims={}, "
            "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
            computation),
      {Ints(kS32, {3}, {10, 20, 30}), Array(kF32, {3}, {1, 2, 3}), Ints(kS32, {2, 1}, {2, 0}), Ints(kS32, {2}, {1, 2}),
       Array(kF32, {2}, {9, -9})});
  EXPECT_THAT(Integers(y.tuple_elements()[0]), ElementsAre(8, 20, 29));
  EXPECT_THAT(Doubles(y.tuple_elements()[1]), ElementsAre(1, 2, 9));
}

}  // namespace indexing_test
}  // namespace VXLA_NAMESPACE::testing
