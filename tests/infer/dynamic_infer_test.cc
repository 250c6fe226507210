// Which dimensions of a result are dynamic, op by op.
#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

// An f32 array; negative sizes are bounds of dynamic dimensions.
Shape Bounded(const std::vector<int64_t>& sizes, ElementType type = kF32) {
  std::vector<int64_t> positive;
  for (int64_t size : sizes) positive.push_back(size < 0 ? -size : size);
  Shape shape(type, positive);
  for (size_t i = 0; i < sizes.size(); ++i) shape.set_dynamic_dimension(static_cast<int>(i), sizes[i] < 0);
  return shape;
}

Window Windows(std::initializer_list<int64_t> sizes) {
  Window window;
  for (int64_t size : sizes) window.push_back({.size = size});
  return window;
}

TEST(DynamicInferTest, SlicesOfOneElementAreStatic) {
  const Shape shape = Bounded({-7, 3});
  EXPECT_EQ(Inferred(Opcode::kSlice, {shape}, SliceAttributes{{{0, 7, 1}, {0, 3, 1}}}), "f32[<=7,3]");
  EXPECT_EQ(Inferred(Opcode::kSlice, {shape}, SliceAttributes{{{1, 7, 2}, {0, 3, 1}}}), "f32[<=3,3]");
  EXPECT_EQ(Inferred(Opcode::kSlice, {shape}, SliceAttributes{{{6, 7, 1}, {0, 3, 1}}}), "f32[1,3]");
}

TEST(DynamicInferTest, WindowsKeepTheDimension) {
  EXPECT_EQ(Inferred(Opcode::kReduceWindow, {Bounded({-7, 3}), Shape(kF32)}, WindowAttributes{Windows({2, 3})}, {},
                     {ScalarComputation(kF32)}),
            "f32[<=6,1]");
  EXPECT_EQ(Inferred(Opcode::kReduce, {Bounded({-7, 3}), Shape(kF32)}, DimensionsAttributes{{1}}, {},
                     {ScalarComputation(kF32)}),
            "f32[<=7]");
}

TEST(DynamicInferTest, ConvolutionTakesBatchSpaceAndFeatures) {
  ConvolutionAttributes a;
  a.window = Windows({3});
  a.dim_labels = ConvolutionDimensions{};
  a.dim_labels->input_batch = 0, a.dim_labels->input_feature = 2, a.dim_labels->input_spatial = {1};
  a.dim_labels->kernel_input_feature = 1, a.dim_labels->kernel_output_feature = 2, a.dim_labels->kernel_spatial = {0};
  a.dim_labels->output_batch = 0, a.dim_labels->output_feature = 2, a.dim_labels->output_spatial = {1};
  EXPECT_EQ(Inferred(Opcode::kConvolution, {Bounded({-4, -8, 2}), Bounded({3, 2, 5})}, a), "f32[<=4,<=6,5]");
  EXPECT_EQ(Inferred(Opcode::kConvolution, {Bounded({4, 8, 2}), Bounded({3, 2, -5})}, a), "f32[4,6,<=5]");
  EXPECT_EQ(Inferred(Opcode::kConvolution, {Bounded({4, 8, -2}), Bounded({3, -2, 5})}, a), "f32[4,6,5]");
}

TEST(DynamicInferTest, GatherTakesTheIndicesBatchAndWholeDimensions) {
  GatherAttributes a;
  a.offset_dims = {1};
  a.collapsed_slice_dims = {0};
  a.start_index_map = {0};
  a.index_vector_dim = 1;
  a.slice_sizes = {1, 5};
  EXPECT_EQ(Inferred(Opcode::kGather, {Bounded({-9, -5}), Bounded({-4}, kS32)}, a), "f32[<=4,<=5]");
  a.slice_sizes = {1, 3};
  EXPECT_EQ(Inferred(Opcode::kGather, {Bounded({-9, -5}), Bounded({4}, kS32)}, a), "f32[4,3]");
}

TEST(DynamicInferTest, DynamicSlicesOfTheWholeDimensionKeepIt) {
  EXPECT_EQ(
      Inferred(Opcode::kDynamicSlice, {Bounded({-9, -5}), Shape(kS32), Shape(kS32)}, DynamicSliceAttributes{{9, 2}}),
      "f32[<=9,2]");
  EXPECT_EQ(Inferred(Opcode::kDynamicUpdateSlice, {Bounded({-9, 5}), Bounded({2, -5}), Shape(kS32), Shape(kS32)}),
            "f32[<=9,5]");
}

TEST(DynamicInferTest, ElementwiseDotConcatenateAndSort) {
  EXPECT_EQ(Inferred(Opcode::kAdd, {Bounded({-4, 3}), Bounded({4, -3})}), "f32[<=4,<=3]");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {Bounded({-4}), Bounded({3})}, DimensionsAttributes{{0}}), "f32[<=7]");
  DotAttributes dot;
  dot.lhs_contracting_dims = {1};
  dot.rhs_contracting_dims = {0};
  EXPECT_EQ(Inferred(Opcode::kDot, {Bounded({-4, -3}), Bounded({-3, -2})}, dot), "f32[<=4,<=2]");
  EXPECT_EQ(Inferred(Opcode::kSelect, {Bounded({-4}, kPred), Bounded({4}), Bounded({4})}), "f32[<=4]");
}

// Where nothing is stated: live sizes of any operand count that shares the dimension.
TEST(DynamicInferTest, SharedDimensionsAreDynamicIfOneOperandIs) {
  DotAttributes dot;
  dot.lhs_batch_dims = {0}, dot.rhs_batch_dims = {0};
  dot.lhs_contracting_dims = {2}, dot.rhs_contracting_dims = {1};
  EXPECT_EQ(Inferred(Opcode::kDot, {Bounded({2, 4, 3}), Bounded({-2, 3, 5})}, dot), "f32[<=2,4,5]");
  EXPECT_EQ(
      Inferred(Opcode::kMap, {Bounded({3}), Bounded({-3})}, DimensionsAttributes{{0}}, {}, {ScalarComputation(kF32)}),
      "f32[<=3]");
  EXPECT_EQ(Inferred(Opcode::kSelect, {Bounded({4}, kPred), Bounded({-4}), Bounded({4})}), "f32[<=4]");
  EXPECT_EQ(Inferred(Opcode::kCholesky, {Bounded({3, -3})}, CholeskyAttributes{}), "f32[<=3,<=3]");
  EXPECT_EQ(Inferred(Opcode::kBatchNormTraining, {Bounded({5, 3}), Bounded({-3}), Bounded({3})},
                     BatchNormAttributes{.epsilon = 0, .feature_index = 1}),
            "(f32[5,<=3], f32[<=3], f32[<=3])");
}

TEST(DynamicInferTest, BuiltReshapesKeepALiveDimension) {
  auto reshaped = [](const Shape& from, const IntList& to) {
    XlaBuilder b("b");
    return ShapeOrError(Reshape(Parameter(&b, 0, from), to));
  };
  EXPECT_EQ(reshaped(Bounded({-8, 3}), {4, 2, 3}), "f32[<=4,2,3]");
  EXPECT_EQ(reshaped(Bounded({-4, 2, 5}), {8, 5}), "f32[<=8,5]");
  EXPECT_EQ(reshaped(Bounded({-6}), {1, 6}), "f32[1,<=6]");
  EXPECT_EQ(reshaped(Bounded({6, -5}), {2, 3, 5}), "f32[2,3,<=5]");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
