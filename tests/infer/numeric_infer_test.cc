// Convolution, FFT, linear algebra, batch normalisation and random numbers.
#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

struct ConvolutionCase {
  Shape lhs{kF32, {6, 9, 11, 4}}, rhs{kF32, {3, 3, 4, 10}};
  ConvolutionAttributes attributes;
  ConvolutionCase() {
    ConvolutionDimensions d;  // b01f_01io->b01f
    d.input_batch = 0;
    d.input_feature = 3;
    d.input_spatial = {1, 2};
    d.kernel_spatial = {0, 1};
    d.kernel_input_feature = 2;
    d.kernel_output_feature = 3;
    d.output_batch = 0;
    d.output_feature = 3;
    d.output_spatial = {1, 2};
    attributes.dim_labels = d;
    attributes.window = {{.size = 3}, {.size = 3, .stride = 2, .pad_low = 1, .pad_high = 1}};
  }
  std::string Infer(const Shape& stated = {}) const {
    return Inferred(Opcode::kConvolution, {lhs, rhs}, attributes, stated);
  }
};

TEST(ConvolutionInferTest, CountsPositionsOfEachSpatialDimension) {
  ConvolutionCase c;
  EXPECT_EQ(c.Infer(), "f32[6,7,6,10]");
  c.attributes.window[0].rhs_dilate = 4;
  EXPECT_EQ(c.Infer(), "f32[6,1,6,10]");
  c.attributes.window[0].rhs_dilate = 5;
  EXPECT_EQ(c.Infer(), "f32[6,0,6,10]");
  EXPECT_EQ(c.Infer(Shape(kF64)), "f64[6,0,6,10]");
  EXPECT_EQ(c.Infer(Shape(kS32)), "convolution: a result of s32 from operands of f32");
}

TEST(ConvolutionInferTest, GroupsSplitFeaturesOrBatch) {
  ConvolutionCase c;
  c.rhs = Shape(kF32, {3, 3, 2, 10});
  c.attributes.feature_group_count = 2;
  EXPECT_EQ(c.Infer(), "f32[6,7,6,10]");
  c.attributes.batch_group_count = 2;
  EXPECT_EQ(c.Infer(), "convolution: feature_group_count 2 and batch_group_count 2 are both above 1");
  c.attributes.feature_group_count = 1;
  c.rhs = Shape(kF32, {3, 3, 4, 10});
  EXPECT_EQ(c.Infer(), "f32[3,7,6,10]");
}

TEST(ConvolutionInferTest, RejectsWhatDoesNotFit) {
  auto with = [](auto change) {
    ConvolutionCase c;
    change(c);
    return c.Infer();
  };
  EXPECT_EQ(with([](auto& c) { c.attributes.feature_group_count = 0; }),
            "convolution: feature_group_count 0 is below 1");
  EXPECT_EQ(with([](auto& c) { c.attributes.batch_group_count = -1; }), "convolution: batch_group_count -1 is below 1");
  EXPECT_EQ(with([](auto& c) { c.attributes.batch_group_count = 4; }),
            "convolution: batch 6 of f32[6,9,11,4] is no multiple of batch_group_count 4");
  EXPECT_EQ(with([](auto& c) { c.attributes.feature_group_count = 3; }),
            "convolution: 4 input features of f32[6,9,11,4] are no multiple of feature_group_count 3");
  EXPECT_EQ(with([](auto& c) { c.attributes.feature_group_count = 2; }),
            "convolution: 4 input features of kernel f32[3,3,4,10], 2 needed");
  EXPECT_EQ(with([](auto& c) { c.attributes.batch_group_count = 3; }),
            "convolution: 10 output features of kernel f32[3,3,4,10] are no multiple of the group count 3");
  EXPECT_EQ(with([](auto& c) { c.attributes.window.pop_back(); }),
            "convolution: the window has 1 dimensions for 2 spatial ones");
  EXPECT_EQ(with([](auto& c) { c.attributes.window[0].size = 4; }),
            "convolution: window size 4 of spatial dimension 0 is not 3, that of kernel f32[3,3,4,10]");
  EXPECT_EQ(with([](auto& c) { c.attributes.window[0].stride = 0; }),
            "convolution: window stride 0 of dimension 0 is below 1");
  EXPECT_EQ(with([](auto& c) {
              c.attributes.dim_labels->input_spatial = {1, 1};
            }),
            "convolution: dim_labels {0,3,1,1} names 1 twice");
  EXPECT_EQ(with([](auto& c) { c.attributes.dim_labels->output_spatial = {1}; }),
            "convolution: dim_labels have 2, 2 and 1 spatial dimensions");
  EXPECT_EQ(with([](auto& c) {
              c.attributes.dim_labels->kernel_spatial = {0, 7};
            }),
            "convolution: dim_labels 7 is not a dimension of f32[3,3,4,10]");
  EXPECT_EQ(with([](auto& c) { c.attributes.dim_labels.reset(); }), "convolution: dim_labels are missing");
  EXPECT_EQ(with([](auto& c) { c.rhs.set_element_type(kS32); }), "convolution: f32 and s32 are not of one kind");
}

TEST(ConvolutionInferTest, BuilderPadsToTheSameSizeAtStrideOne) {
  XlaBuilder builder("conv");
  const XlaOp lhs = Parameter(&builder, 0, Shape(kF32, {2, 3, 8, 9}));
  const XlaOp rhs = Parameter(&builder, 1, Shape(kF32, {5, 3, 4, 3}));
  EXPECT_EQ(ShapeOrError(Conv(lhs, rhs, {1, 1}, Padding::kSame)), "f32[2,5,8,9]");
  EXPECT_EQ(ShapeOrError(Conv(lhs, rhs, {2, 2}, Padding::kValid)), "f32[2,5,3,4]");
  EXPECT_EQ(ShapeOrError(ConvWithGeneralPadding(lhs, rhs, {1, 1}, {{-1, 0}, {1, 1}}, {2, 1}, {1, 2})), "f32[2,5,11,7]");
  EXPECT_EQ(ShapeOrError(Conv(lhs, rhs, {1}, Padding::kSame)),
            "convolution: a window of 2 dimensions and 1 strides for 2 dimensions");
}

std::string Transformed(const Shape& shape, FftType type, IntList length) {
  return Inferred(Opcode::kFft, {shape}, FftAttributes{type, std::move(length)});
}

TEST(FftInferTest, HalvesOrRestoresTheInnermostDimension) {
  EXPECT_EQ(Transformed(Shape(kC64, {3, 7}), FftType::kFft, {7}), "c64[3,7]");
  EXPECT_EQ(Transformed(Shape(kF32, {3, 7}), FftType::kRfft, {7}), "c64[3,4]");
  EXPECT_EQ(Transformed(Shape(kF64, {3, 8}), FftType::kRfft, {3, 8}), "c128[3,5]");
  EXPECT_EQ(Transformed(Shape(kC64, {3, 5}), FftType::kIrfft, {9}), "f32[3,9]");
  EXPECT_EQ(Transformed(Shape(kC64, {3, 5}), FftType::kIrfft, {8}), "f32[3,8]");
  EXPECT_EQ(Transformed(Shape(kC64, {0, 5}), FftType::kIfft, {5}), "c64[0,5]");
}

TEST(FftInferTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Transformed(Shape(kF32, {7}), FftType::kFft, {7}), "fft: operand 0 is of f32, a complex type needed");
  EXPECT_EQ(Transformed(Shape(kC64, {7}), FftType::kRfft, {7}), "fft: operand 0 is of c64, f32 or f64 needed");
  EXPECT_EQ(Transformed(Shape(kC64, {7}), FftType::kFft, {8}),
            "fft: dimension 0 of c64[7] should be 8 for fft_length 8");
  EXPECT_EQ(Transformed(Shape(kC64, {7}), FftType::kIrfft, {7}),
            "fft: dimension 0 of c64[7] should be 4 for fft_length 7");
  EXPECT_EQ(Transformed(Shape(kC64, {7}), FftType::kFft, {}), "fft: 0 entries of fft_length, 1 to 3 needed");
  EXPECT_EQ(Transformed(Shape(kC64, {7}), FftType::kFft, {1, 7}), "fft: 2 entries of fft_length for c64[7]");
}

TEST(LinalgInferTest, TakesBatchesOfSquareMatrices) {
  EXPECT_EQ(Inferred(Opcode::kCholesky, {Shape(kF32, {2, 3, 3})}), "f32[2,3,3]");
  EXPECT_EQ(Inferred(Opcode::kCholesky, {Shape(kF32, {2, 3})}),
            "cholesky: operand 0 f32[2,3] does not hold square matrices");
  EXPECT_EQ(Inferred(Opcode::kCholesky, {Shape(kF32, {3})}),
            "cholesky: operand 0 f32[3] does not hold square matrices");
  EXPECT_EQ(Inferred(Opcode::kCholesky, {Shape(kS32, {3, 3})}),
            "cholesky: operand 0 is of s32, a floating or complex type needed");
}

TEST(LinalgInferTest, TriangularSolveTakesEitherSide) {
  TriangularSolveAttributes left;
  left.left_side = true;
  const Shape a(kF32, {2, 3, 3});
  EXPECT_EQ(Inferred(Opcode::kTriangularSolve, {a, Shape(kF32, {2, 3, 5})}, left), "f32[2,3,5]");
  EXPECT_EQ(Inferred(Opcode::kTriangularSolve, {a, Shape(kF32, {2, 5, 3})}), "f32[2,5,3]");
  EXPECT_EQ(Inferred(Opcode::kTriangularSolve, {a, Shape(kF32, {2, 5, 3})}, left),
            "triangular-solve: operand 1 f32[2,5,3] does not fit the matrices f32[2,3,3] on the left side");
  EXPECT_EQ(Inferred(Opcode::kTriangularSolve, {a, Shape(kF32, {7, 5, 3})}),
            "triangular-solve: operand 1 f32[7,5,3] does not fit the matrices f32[2,3,3] on the right side");
  EXPECT_EQ(Inferred(Opcode::kTriangularSolve, {a, Shape(kF64, {2, 5, 3})}),
            "triangular-solve: operand 1 is of f64, operand 0 of f32");
}

TEST(BatchNormInferTest, GivesThreeResultsInTheSpecificationsOrder) {
  const Shape x(kF32, {2, 5, 3}), v(kF32, {5});
  const BatchNormAttributes a{0.1f, 1};
  EXPECT_EQ(Inferred(Opcode::kBatchNormTraining, {x, v, v}, a), "(f32[2,5,3], f32[5], f32[5])");
  EXPECT_EQ(Inferred(Opcode::kBatchNormInference, {x, v, v, v, v}, a), "f32[2,5,3]");
  EXPECT_EQ(Inferred(Opcode::kBatchNormGrad, {x, v, v, v, x}, a), "(f32[2,5,3], f32[5], f32[5])");
  EXPECT_EQ(Inferred(Opcode::kBatchNormTraining, {x, v, Shape(kF32, {3})}, a),
            "batch-norm-training: operand 2 is f32[3], f32[5] needed");
  EXPECT_EQ(Inferred(Opcode::kBatchNormTraining, {x, v, v}, BatchNormAttributes{0.1f, 3}),
            "batch-norm-training: feature_index 3 is not a dimension of f32[2,5,3]");
  EXPECT_EQ(Inferred(Opcode::kBatchNormGrad, {x, v, v, v, v}, a),
            "batch-norm-grad: operand 4 f32[5] and operand 0 f32[2,5,3] differ in their dimensions");
}

TEST(RandomInferTest, DistributionsFitTheirTypes) {
  const RngAttributes uniform{RngDistribution::kUniform}, normal{RngDistribution::kNormal};
  EXPECT_EQ(Inferred(Opcode::kRng, {Shape(kS32), Shape(kS32)}, uniform, Shape(kS32, {3})), "s32[3]");
  EXPECT_EQ(Inferred(Opcode::kRng, {Shape(kS32), Shape(kS32)}, normal, Shape(kS32, {3})),
            "rng: no such distribution over s32");
  EXPECT_EQ(Inferred(Opcode::kRng, {Shape(kF32), Shape(kF64)}, normal, Shape(kF32, {3})),
            "rng: operand 1 is of f64, the result of f32");
  EXPECT_EQ(Inferred(Opcode::kRng, {Shape(kF32), Shape(kF32, {3})}, normal, Shape(kF32, {3})),
            "rng: operand 1 is f32[3], not a scalar");
  XlaBuilder builder("random");
  EXPECT_EQ(ShapeOrError(RngBernoulli(ConstantR0<float>(&builder, 0.5f), Shape(kU32, {5}))), "u32[5]");
}

TEST(RandomInferTest, BitGeneratorsStateFitsTheAlgorithm) {
  auto infer = [](RngAlgorithm algorithm, const Shape& state) {
    return Inferred(Opcode::kRngBitGenerator, {state}, RngBitGeneratorAttributes{algorithm},
                    Shape::Tuple({state, Shape(kU32, {7})}));
  };
  EXPECT_EQ(infer(RngAlgorithm::kThreeFry, Shape(kU64, {2})), "(u64[2], u32[7])");
  EXPECT_EQ(infer(RngAlgorithm::kPhilox, Shape(kU64, {3})), "(u64[3], u32[7])");
  EXPECT_EQ(infer(RngAlgorithm::kPhilox, Shape(kU64, {2})), "(u64[2], u32[7])");
  EXPECT_EQ(infer(RngAlgorithm::kThreeFry, Shape(kU32, {4})), "(u32[4], u32[7])");
  EXPECT_EQ(infer(RngAlgorithm::kThreeFry, Shape(kU64, {3})),
            "rng-bit-generator: a state of u64[3] does not fit the algorithm");
  EXPECT_EQ(Inferred(Opcode::kRngBitGenerator, {Shape(kU64, {2})}, {}, Shape(kU32, {7})),
            "rng-bit-generator: the stated shape u32[7] is not (u64[2], an array)");
}

ReplicaGroups Groups(std::vector<IntList> groups) {
  ReplicaGroups result;
  result.groups = std::move(groups);
  return result;
}

TEST(CollectiveInferTest, GatherAndScatterScaleOneDimension) {
  XlaBuilder builder("collectives");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {4, 6}));
  const XlaComputation add = ScalarComputation(kF32);
  EXPECT_EQ(ShapeOrError(AllGather(x, 1, 3)), "f32[4,18]");
  EXPECT_EQ(ShapeOrError(AllGather(x, 0, 2, Groups({{0, 2}, {1, 3}}))), "f32[8,6]");
  EXPECT_EQ(ShapeOrError(ReduceScatter(x, add, 1, 3)), "f32[4,2]");
  EXPECT_EQ(ShapeOrError(AllReduce(x, add)), "f32[4,6]");
  EXPECT_EQ(ShapeOrError(CrossReplicaSum(Tuple(&builder, {x, ConvertElementType(x, kS32)}))), "(f32[4,6], s32[4,6])");
  EXPECT_EQ(ShapeOrError(AllToAll(x, 1, 1, 3)), "f32[4,6]");
  EXPECT_EQ(ShapeOrError(CollectivePermute(x, {{0, 1}, {1, 0}})), "f32[4,6]");
  EXPECT_EQ(ShapeOrError(CollectiveBroadcast(x, Groups({{0, 1}}))), "f32[4,6]");
  EXPECT_EQ(ShapeOrError(ReplicaId(&builder)), "u32[]");
  EXPECT_EQ(ShapeOrError(PartitionId(&builder)), "u32[]");
}

TEST(CollectiveInferTest, AllToAllExampleOfTheSpecification) {
  XlaBuilder builder("alltoall");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {4, 16}));
  EXPECT_EQ(ShapeOrError(AllToAll(x, 1, 0, 4)), "f32[16,4]");
}

TEST(CollectiveInferTest, RejectsWhatDoesNotFit) {
  const Shape x(kF32, {4, 6});
  CollectiveAttributes a;
  a.dimensions = {0};
  a.replica_groups = Groups({{0, 1}, {2, 3}});
  EXPECT_EQ(Inferred(Opcode::kAllGather, {x}, a, Shape(kF32, {12, 6})),
            "all-gather: dimension 0 of f32[4,6] does not become that of f32[12,6] over the groups");
  EXPECT_EQ(Inferred(Opcode::kAllGather, {x}, a, Shape(kF32, {8, 7})),
            "all-gather: f32[4,6] cannot become f32[8,7] along dimension 0");
  a.dimensions = {2};
  EXPECT_EQ(Inferred(Opcode::kAllGather, {x}, a, Shape(kF32, {8, 6})),
            "all-gather: dimension 2 is not a dimension of f32[4,6]");
  a.dimensions = {0};
  a.replica_groups = Groups({{0, 1}, {1, 2}});
  EXPECT_EQ(Inferred(Opcode::kAllGather, {x}, a, Shape(kF32, {8, 6})), "all-gather: replica_groups name 1 twice");
  a.replica_groups = Groups({{0, -1}});
  EXPECT_EQ(Inferred(Opcode::kAllGather, {x}, a, Shape(kF32, {8, 6})), "all-gather: replica_groups name -1");
  a.replica_groups = Groups({{0, 1}, {2}});
  EXPECT_EQ(Inferred(Opcode::kAllGather, {x}, a, Shape(kF32, {8, 6})), "all-gather: replica_groups of 2 and 1 members");
  EXPECT_EQ(Inferred(Opcode::kAllReduce, {x}, CollectiveAttributes{}, {}, {ScalarComputation(kS32)}),
            "all-reduce: parameter 0 of computation scalar is s32[], f32[] needed");
  CollectivePermuteAttributes permute;
  permute.source_target_pairs = {{0, 1}, {0, 2}};
  EXPECT_EQ(Inferred(Opcode::kCollectivePermute, {x}, permute), "collective-permute: source 0 occurs twice");
  permute.source_target_pairs = {{0, 1}, {2, 1}};
  EXPECT_EQ(Inferred(Opcode::kCollectivePermute, {x}, permute), "collective-permute: target 1 occurs twice");
  permute.source_target_pairs = {{0, -7}};
  EXPECT_EQ(Inferred(Opcode::kCollectivePermute, {x}, permute), "collective-permute: source_target_pairs name -7");
  XlaBuilder builder("scatter");
  EXPECT_EQ(ShapeOrError(ReduceScatter(Parameter(&builder, 0, x), ScalarComputation(kF32), 1, 4)),
            "reduce-scatter: dimension 1 of f32[4,6] does not split into 4");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
