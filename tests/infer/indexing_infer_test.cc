#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace indexing_infer_test {

const Shape kF = Shape(kF32, {4, 8}), kIndex = Shape(kS32);

TEST(DynamicSliceInferTest, TakesScalarsOrOneVector) {
  const DynamicSliceAttributes sizes{{2, 8}};
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, kIndex}, sizes), "f32[2,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, Shape(kU8, {2})}, sizes), "f32[2,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {Shape(kF32)}, DynamicSliceAttributes{}), "f32[]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, kIndex}, DynamicSliceAttributes{{0, 1}}), "f32[0,1]");
}

TEST(DynamicSliceInferTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, kIndex}, DynamicSliceAttributes{{2, 9}}),
            "dynamic-slice: size 9 is not in 0 to 8, dimension 1 of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, kIndex}, DynamicSliceAttributes{{-1, 8}}),
            "dynamic-slice: size -1 is not in 0 to 4, dimension 0 of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex}, DynamicSliceAttributes{{2, 8}}),
            "dynamic-slice: the list of start indices has 1 entries for the 2 dimensions of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, Shape(kF32)}, DynamicSliceAttributes{{2, 8}}),
            "dynamic-slice: start index 1 is f32[], not a scalar integer");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, Shape(kS64)}, DynamicSliceAttributes{{2, 8}}),
            "dynamic-slice: operand 2 is of s64, operand 1 of s32");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, Shape(kS32, {3})}, DynamicSliceAttributes{{2, 8}}),
            "dynamic-slice: start indices s32[3] do not hold one integer for each dimension of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicSlice, {kF, kIndex, kIndex}, DynamicSliceAttributes{{2}}),
            "dynamic-slice: dynamic_slice_sizes has 1 entries for the 2 dimensions of f32[4,8]");
}

TEST(DynamicUpdateSliceInferTest, KeepsTheOperandsShape) {
  EXPECT_EQ(Inferred(Opcode::kDynamicUpdateSlice, {kF, Shape(kF32, {2, 0}), kIndex, kIndex}), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicUpdateSlice, {kF, Shape(kF32, {5, 8}), kIndex, kIndex}),
            "dynamic-update-slice: dimension 0 of update f32[5,8] exceeds that of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicUpdateSlice, {kF, Shape(kF32, {2}), kIndex, kIndex}),
            "dynamic-update-slice: update f32[2] has not the rank of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDynamicUpdateSlice, {kF, Shape(kS32, {2, 2}), kIndex, kIndex}),
            "dynamic-update-slice: operand 1 is of s32, operand 0 of f32");
}

struct GatherCase {
  Shape operand{kF32, {16, 11}};
  Shape indices{kS64, {5, 2}};
  GatherAttributes attributes;
  GatherCase() {
    attributes.offset_dims = {1, 2};
    attributes.start_index_map = {0, 1};
    attributes.index_vector_dim = 1;
    attributes.slice_sizes = {8, 6};
  }
  std::string Infer() const { return Inferred(Opcode::kGather, {operand, indices}, attributes); }
};

TEST(GatherInferTest, ExamplesOfTheSpecification) {
  GatherCase g;
  EXPECT_EQ(g.Infer(), "f32[5,8,6]");
  g.indices = Shape(kS64, {4, 5, 2});
  g.attributes.offset_dims = {2, 3};
  g.attributes.index_vector_dim = 2;
  EXPECT_EQ(g.Infer(), "f32[4,5,8,6]");
  g.indices = Shape(kS64, {4, 5, 1});
  g.attributes.start_index_map = {0};
  g.attributes.collapsed_slice_dims = {0};
  g.attributes.slice_sizes = {1, 11};
  g.attributes.offset_dims = {2};
  EXPECT_EQ(g.Infer(), "f32[4,5,11]");
  g.indices = Shape(kS64, {4, 5});  // the index vector's dimension is implied
  EXPECT_EQ(g.Infer(), "f32[4,5,11]");
}

TEST(GatherInferTest, BatchingDimensionsTakeOneSliceEach) {
  GatherCase g;
  g.indices = Shape(kS32, {7, 16, 1});
  g.attributes = {};
  g.attributes.offset_dims = {2};
  g.attributes.start_index_map = {1};
  g.attributes.operand_batching_dims = {0};
  g.attributes.start_indices_batching_dims = {1};
  g.attributes.index_vector_dim = 2;
  g.attributes.slice_sizes = {1, 3};
  EXPECT_EQ(g.Infer(), "f32[7,16,3]");
  g.indices = Shape(kS32, {7, 15, 1});
  EXPECT_EQ(g.Infer(), "gather: batching dimension 0 of f32[16,11] and 1 of s32[7,15,1] differ in size");
  g.attributes.start_indices_batching_dims = {2};
  EXPECT_EQ(g.Infer(), "gather: index_vector_dim 2 is an indices batching dimension");
  g.attributes.start_indices_batching_dims = {};
  EXPECT_EQ(g.Infer(), "gather: 1 batching dimensions of the array, 0 of the indices");
}

TEST(GatherInferTest, RejectsWhatDoesNotFit) {
  auto with = [](auto change) {
    GatherCase g;
    change(g);
    return g.Infer();
  };
  EXPECT_EQ(with([](auto& g) {
              g.attributes.slice_sizes = {17, 6};
            }),
            "gather: slice size 17 is not in 0 to 16, dimension 0 of f32[16,11]");
  EXPECT_EQ(with([](auto& g) { g.attributes.slice_sizes = {8}; }),
            "gather: slice_sizes has 1 entries for the 2 dimensions of f32[16,11]");
  EXPECT_EQ(with([](auto& g) { g.attributes.collapsed_slice_dims = {0}; }),
            "gather: slice size 8 of the collapsed or batching dimension 0 exceeds 1");
  EXPECT_EQ(with([](auto& g) { g.attributes.offset_dims = {1}; }),
            "gather: offset_dims has 1 entries for 2 dimensions of the slice");
  EXPECT_EQ(with([](auto& g) { g.attributes.offset_dims = {2, 1}; }), "gather: offset_dims {2,1} is not sorted");
  EXPECT_EQ(with([](auto& g) { g.attributes.offset_dims = {1, 1}; }), "gather: offset_dims names 1 twice");
  EXPECT_EQ(with([](auto& g) { g.attributes.offset_dims = {1, 3}; }), "gather: offset_dims 3 is not in 0 to 2");
  EXPECT_EQ(with([](auto& g) { g.attributes.index_vector_dim = 3; }),
            "gather: index_vector_dim 3 is not in 0 to 2, the rank of s64[5,2]");
  EXPECT_EQ(with([](auto& g) { g.attributes.start_index_map = {0}; }),
            "gather: start_index_map has 1 entries for index vectors of length 2");
  EXPECT_EQ(with([](auto& g) {
              g.attributes.start_index_map = {0, 0};
            }),
            "gather: start_index_map {0,0} names 0 twice");
  EXPECT_EQ(with([](auto& g) {
              g.attributes.start_index_map = {0, 2};
            }),
            "gather: start_index_map 2 is not a dimension of f32[16,11]");
  EXPECT_EQ(with([](auto& g) {
              g.indices = Shape(kF32, {5, 2});
            }),
            "gather: start indices are of f32, an integer type needed");
}

std::string Scattered(const Shape& operand, const Shape& indices, const Shape& updates, ScatterAttributes attributes,
                      ElementType type = kF32) {
  return Inferred(Opcode::kScatter, {operand, indices, updates}, std::move(attributes), {}, {ScalarComputation(type)});
}

TEST(ScatterInferTest, ChecksUpdatesAgainstWindowsAndIndices) {
  ScatterAttributes a;
  a.update_window_dims = {1};
  a.inserted_window_dims = {0};
  a.scatter_dims_to_operand_dims = {0};
  a.index_vector_dim = 1;
  const Shape indices(kS32, {5, 1});
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 8}), a), "f32[4,8]");
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 3}), a), "f32[4,8]");
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 9}), a), "scatter: dimension 1 of updates f32[5,9] exceeds 8");
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {4, 8}), a), "scatter: dimension 0 of updates f32[4,8] is not 5");
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 8, 1}), a), "scatter: updates f32[5,8,1] need rank 2");
  EXPECT_EQ(Scattered(kF, indices, Shape(kS32, {5, 8}), a), "scatter: operand 2 is of s32, operand 0 of f32");
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 8}), a, kS32),
            "scatter: parameter 0 of computation scalar is s32[], f32[] needed");
  a.inserted_window_dims = {};
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 8}), a),
            "scatter: update_window_dims has 1 entries for 2 window dimensions of f32[4,8]");
  a.inserted_window_dims = {2};
  EXPECT_EQ(Scattered(kF, indices, Shape(kF32, {5, 8}), a),
            "scatter: inserted_window_dims 2 is not a dimension of f32[4,8]");
}

TEST(SortInferTest, ComparatorTakesInterleavedPairs) {
  const XlaComputation less = ScalarComputation(kF32, Lt);
  EXPECT_EQ(Inferred(Opcode::kSort, {kF}, SortAttributes{{1}, false}, {}, {less}), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kSort, {kF}, SortAttributes{{2}, false}, {}, {less}),
            "sort: dimension 2 is not a dimension of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kSort, {kF, kF}, SortAttributes{{0}, false}, {}, {less}),
            "sort: computation scalar has 2 parameters, 4 needed");
  EXPECT_EQ(Inferred(Opcode::kSort, {kF}, SortAttributes{{0}, false}, {}, {ScalarComputation(kF32)}),
            "sort: computation scalar returns f32[], pred[] needed");
  EXPECT_EQ(Inferred(Opcode::kSort, {kF, Shape(kF32, {4, 7})}, SortAttributes{{0}, false}, {}, {less}),
            "sort: operand 1 f32[4,7] and operand 0 f32[4,8] differ in their dimensions");
  XlaBuilder pairs("pairs");
  const XlaOp a = Parameter(&pairs, 0, Shape(kF32)), b = Parameter(&pairs, 1, Shape(kF32));
  Parameter(&pairs, 2, Shape(kS32));
  Parameter(&pairs, 3, Shape(kS32));
  EXPECT_EQ(
      Inferred(Opcode::kSort, {kF, Shape(kS32, {4, 8})}, SortAttributes{{0}, false}, {}, {*pairs.Build(Lt(a, b))}),
      "(f32[4,8], s32[4,8])");
}

TEST(TopKInferTest, GivesValuesAndPositions) {
  EXPECT_EQ(Inferred(Opcode::kTopK, {kF}, TopKAttributes{3, true}), "(f32[4,3], s32[4,3])");
  EXPECT_EQ(Inferred(Opcode::kTopK, {kF}, TopKAttributes{9, true}),
            "topk: k 9 is not in 0 to 8, dimension 1 of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kTopK, {Shape(kF32)}, TopKAttributes{0, true}), "topk: operand 0 is f32[], a scalar");
  EXPECT_EQ(Inferred(Opcode::kTopK, {Shape(kC64, {3})}, TopKAttributes{1, true}),
            "topk: operand 0 is of c64, a type with an order needed");
}

}  // namespace indexing_infer_test
}  // namespace VXLA_NAMESPACE
