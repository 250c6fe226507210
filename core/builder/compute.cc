#include <algorithm>

#include "core/builder/builder.h"
#include "core/builder/emit.h"
#include "core/host/ranges.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {
namespace {

// The stated shape that asks for an element type, or none.
Shape Preferred(std::optional<ElementType> type) { return type ? Shape(*type) : Shape(); }

void SetPrecision(const PrecisionConfig* config, DotAttributes& attributes) {
  if (config == nullptr) return;
  attributes.operand_precision = config->operand_precision;
  attributes.algorithm = config->algorithm;
}

int64_t Or1(const IntList& values, size_t i) { return values.empty() ? 1 : values[i]; }

// A window from the lists of the specification; empty lists are ones, and no padding.
Result<Window> MakeWindow(Opcode opcode, const IntList& sizes, const IntList& strides, const PaddingPairs& padding,
                          const IntList& base_dilations, const IntList& window_dilations) {
  auto fits = [&](size_t count) { return count == 0 || count == sizes.size(); };  // window_lists_c1
  if (!fits(strides.size()) || !fits(padding.size()) || !fits(base_dilations.size()) ||
      !fits(window_dilations.size())) {
    return InvalidArgument("{}: {} strides, {} paddings, {} and {} dilations for a window of {} dimensions",
                           OpcodeText(opcode), strides.size(), padding.size(), base_dilations.size(),
                           window_dilations.size(), sizes.size());
  }
  Window window;
  for (size_t i = 0; i < sizes.size(); ++i) {
    window.push_back({.size = sizes[i],
                      .stride = Or1(strides, i),
                      .pad_low = padding.empty() ? 0 : padding[i].first,
                      .pad_high = padding.empty() ? 0 : padding[i].second,
                      .lhs_dilate = Or1(base_dilations, i),
                      .rhs_dilate = Or1(window_dilations, i)});
  }
  return window;
}

// kSame: as many positions as ceil(size/stride); of an odd total the larger half goes to the high end.
Result<PaddingPairs> MakePadding(Opcode opcode, Padding padding, const IntList& sizes, const IntList& window,
                                 const IntList& strides) {
  if (sizes.size() != window.size() || (!strides.empty() && strides.size() != window.size())) {  // window_lists_c2
    return InvalidArgument("{}: a window of {} dimensions and {} strides for {} dimensions", OpcodeText(opcode),
                           window.size(), strides.size(), sizes.size());
  }
  PaddingPairs pairs(sizes.size(), {0, 0});
  if (padding == Padding::kValid) return pairs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t stride = Or1(strides, i);
    if (stride < 1) {  // window_c2
      return InvalidArgument("{}: window stride {} of dimension {} is below 1", OpcodeText(opcode), stride, i);
    }
    const int64_t positions = sizes[i] / stride + (sizes[i] % stride != 0 ? 1 : 0);
    const __int128 needed = positions == 0 ? 0 : static_cast<__int128>(positions - 1) * stride + window[i];
    const int64_t total = static_cast<int64_t>(std::clamp<__int128>(needed - sizes[i], 0, INT64_MAX));
    pairs[i] = {total / 2, total - total / 2};
  }
  return pairs;
}

IntList Sizes(const Shape& shape, const IntList& dimensions) {
  return Transformed(dimensions, [&](int64_t i) { return i >= 0 && i < shape.rank() ? shape.dimension(i) : -1; });
}

// (batch, feature, spatial...), (output feature, input feature, spatial...) -> (batch, feature, spatial...)
ConvolutionDimensions DefaultConvolutionDimensions(XlaOp lhs) {
  ConvolutionDimensions d;
  d.kernel_input_feature = 1;
  d.kernel_output_feature = 0;
  for (int i = 2; lhs.valid() && i < lhs.shape().rank(); ++i) {
    d.input_spatial.push_back(i);
    d.kernel_spatial.push_back(i);
    d.output_spatial.push_back(i);
  }
  return d;
}

}  // namespace

XlaOp Dot(XlaOp lhs, XlaOp rhs, const PrecisionConfig* precision_config,
          std::optional<ElementType> preferred_element_type) {
  return RunBuild(nullptr, {{lhs, rhs}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    for (const XlaOp& op : {lhs, rhs}) {
      if (op.shape().rank() < 1) {  // dot_rank_c1
        return InvalidArgument("dot: {} has no dimension to contract", op.shape().ToString());
      }
    }
    DotAttributes attributes;
    attributes.lhs_contracting_dims = {lhs.shape().rank() == 1 ? 0 : 1};
    attributes.rhs_contracting_dims = {0};
    SetPrecision(precision_config, attributes);
    return Emit(b, Opcode::kDot, {{lhs, rhs}}, Preferred(preferred_element_type), std::move(attributes));
  });
}

XlaOp DotGeneral(XlaOp lhs, XlaOp rhs, const DotDimensionNumbers& dimension_numbers,
                 const PrecisionConfig* precision_config, std::optional<ElementType> preferred_element_type) {
  DotAttributes attributes;
  attributes.lhs_contracting_dims = dimension_numbers.lhs_contracting_dimensions;
  attributes.rhs_contracting_dims = dimension_numbers.rhs_contracting_dimensions;
  attributes.lhs_batch_dims = dimension_numbers.lhs_batch_dimensions;
  attributes.rhs_batch_dims = dimension_numbers.rhs_batch_dimensions;
  SetPrecision(precision_config, attributes);
  return EmitOne(nullptr, Opcode::kDot, {lhs, rhs}, Preferred(preferred_element_type), std::move(attributes));
}

XlaOp RaggedDot(XlaOp lhs, XlaOp rhs, XlaOp group_sizes, const DotAttributes& dimension_numbers,
                const PrecisionConfig* precision_config, std::optional<ElementType> preferred_element_type) {
  DotAttributes attributes = dimension_numbers;
  SetPrecision(precision_config, attributes);
  return EmitOne(nullptr, Opcode::kRaggedDot, {lhs, rhs, group_sizes}, Preferred(preferred_element_type),
                 std::move(attributes));
}

XlaOp ConvGeneralDilated(XlaOp lhs, XlaOp rhs, const IntList& window_strides, const PaddingPairs& padding,
                         const IntList& lhs_dilation, const IntList& rhs_dilation,
                         const ConvolutionDimensions& dimension_numbers, int64_t feature_group_count,
                         int64_t batch_group_count, const PrecisionConfig* precision_config,
                         std::optional<ElementType> preferred_element_type, const std::vector<bool>& window_reversal) {
  return RunBuild(nullptr, {{lhs, rhs}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    ConvolutionAttributes attributes;
    attributes.dim_labels = dimension_numbers;
    attributes.feature_group_count = feature_group_count;
    attributes.batch_group_count = batch_group_count;
    if (precision_config != nullptr) {
      if (!precision_config->algorithm.empty())  // conv_algorithm_c1
        return InvalidArgument("convolution: algorithm {} is a dot's", precision_config->algorithm);
      attributes.operand_precision = precision_config->operand_precision;
    }
    const IntList sizes = Sizes(rhs.shape(), dimension_numbers.kernel_spatial);
    VXLA_ASSIGN_OR_RETURN(attributes.window,
                          MakeWindow(Opcode::kConvolution, sizes, window_strides, padding, lhs_dilation, rhs_dilation));
    if (!window_reversal.empty() && window_reversal.size() != sizes.size()) {  // window_lists_c1
      return InvalidArgument("convolution: {} window reversals for a window of {} dimensions", window_reversal.size(),
                             sizes.size());
    }
    for (size_t i = 0; i < window_reversal.size(); ++i) attributes.window[i].reversal = window_reversal[i];
    return Emit(b, Opcode::kConvolution, {{lhs, rhs}}, Preferred(preferred_element_type), std::move(attributes));
  });
}

XlaOp ConvGeneral(XlaOp lhs, XlaOp rhs, const IntList& window_strides, const PaddingPairs& padding,
                  const ConvolutionDimensions& dimension_numbers, int64_t feature_group_count,
                  int64_t batch_group_count, const PrecisionConfig* precision_config,
                  std::optional<ElementType> preferred_element_type) {
  return ConvGeneralDilated(lhs, rhs, window_strides, padding, {}, {}, dimension_numbers, feature_group_count,
                            batch_group_count, precision_config, preferred_element_type);
}

XlaOp ConvWithGeneralDimensions(XlaOp lhs, XlaOp rhs, const IntList& window_strides, Padding padding,
                                const ConvolutionDimensions& dimension_numbers, int64_t feature_group_count,
                                int64_t batch_group_count, const PrecisionConfig* precision_config,
                                std::optional<ElementType> preferred_element_type) {
  return RunBuild(nullptr, {{lhs, rhs}}, [&](XlaBuilder&) -> Result<XlaOp> {
    VXLA_ASSIGN_OR_RETURN(
        const PaddingPairs pairs,
        MakePadding(Opcode::kConvolution, padding, Sizes(lhs.shape(), dimension_numbers.input_spatial),
                    Sizes(rhs.shape(), dimension_numbers.kernel_spatial), window_strides));
    return ConvGeneral(lhs, rhs, window_strides, pairs, dimension_numbers, feature_group_count, batch_group_count,
                       precision_config, preferred_element_type);
  });
}

XlaOp Conv(XlaOp lhs, XlaOp rhs, const IntList& window_strides, Padding padding, int64_t feature_group_count,
           int64_t batch_group_count, const PrecisionConfig* precision_config,
           std::optional<ElementType> preferred_element_type) {
  return ConvWithGeneralDimensions(lhs, rhs, window_strides, padding, DefaultConvolutionDimensions(lhs),
                                   feature_group_count, batch_group_count, precision_config, preferred_element_type);
}

XlaOp ConvWithGeneralPadding(XlaOp lhs, XlaOp rhs, const IntList& window_strides, const PaddingPairs& padding,
                             const IntList& lhs_dilation, const IntList& rhs_dilation, int64_t feature_group_count,
                             int64_t batch_group_count, const PrecisionConfig* precision_config,
                             std::optional<ElementType> preferred_element_type) {
  return ConvGeneralDilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                            DefaultConvolutionDimensions(lhs), feature_group_count, batch_group_count, precision_config,
                            preferred_element_type);
}

XlaOp Reduce(XlaBuilder* builder, const std::vector<XlaOp>& operands, const std::vector<XlaOp>& init_values,
             const XlaComputation& computation, const IntList& dimensions) {
  const std::vector<XlaOp> all = Joined(operands, init_values);
  return RunBuild(builder, all, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (operands.size() != init_values.size()) {  // reduce_c3
      return InvalidArgument("reduce: {} operands and {} initial values", operands.size(), init_values.size());
    }
    return Emit(b, Opcode::kReduce, all, {}, DimensionsAttributes{dimensions}, {{computation}});
  });
}

XlaOp Reduce(XlaOp operand, XlaOp init_value, const XlaComputation& computation, const IntList& dimensions) {
  return Reduce(operand.builder(), {operand}, {init_value}, computation, dimensions);
}

XlaOp ReduceAll(XlaOp operand, XlaOp init_value, const XlaComputation& computation) {
  IntList dimensions;
  for (int i = 0; operand.valid() && i < operand.shape().rank(); ++i) dimensions.push_back(i);
  return Reduce(operand, init_value, computation, dimensions);
}

XlaOp ReduceWindowWithGeneralPadding(const std::vector<XlaOp>& operands, const std::vector<XlaOp>& init_values,
                                     const XlaComputation& computation, const IntList& window_dimensions,
                                     const IntList& window_strides, const IntList& base_dilations,
                                     const IntList& window_dilations, const PaddingPairs& padding) {
  const std::vector<XlaOp> all = Joined(operands, init_values);
  return RunBuild(nullptr, all, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (operands.size() != init_values.size()) {  // reduce_c3
      return InvalidArgument("reduce-window: {} operands and {} initial values", operands.size(), init_values.size());
    }
    WindowAttributes attributes;
    VXLA_ASSIGN_OR_RETURN(attributes.window, MakeWindow(Opcode::kReduceWindow, window_dimensions, window_strides,
                                                        padding, base_dilations, window_dilations));
    return Emit(b, Opcode::kReduceWindow, all, {}, std::move(attributes), {{computation}});
  });
}

XlaOp ReduceWindow(const std::vector<XlaOp>& operands, const std::vector<XlaOp>& init_values,
                   const XlaComputation& computation, const IntList& window_dimensions, const IntList& window_strides,
                   Padding padding) {
  return RunBuild(nullptr, operands, [&](XlaBuilder&) -> Result<XlaOp> {
    const auto sizes = operands[0].shape().dimensions();
    VXLA_ASSIGN_OR_RETURN(const PaddingPairs pairs,
                          MakePadding(Opcode::kReduceWindow, padding, IntList(sizes.begin(), sizes.end()),
                                      window_dimensions, window_strides));
    return ReduceWindowWithGeneralPadding(operands, init_values, computation, window_dimensions, window_strides, {}, {},
                                          pairs);
  });
}

XlaOp ReduceWindow(XlaOp operand, XlaOp init_value, const XlaComputation& computation, const IntList& window_dimensions,
                   const IntList& window_strides, Padding padding) {
  return ReduceWindow(std::vector<XlaOp>{operand}, std::vector<XlaOp>{init_value}, computation, window_dimensions,
                      window_strides, padding);
}

XlaOp ReduceWindow(XlaOp operand, const XlaComputation& computation, XlaOp init_value, const IntList& window_dimensions,
                   const IntList& window_strides, Padding padding) {
  return ReduceWindow(operand, init_value, computation, window_dimensions, window_strides, padding);
}

XlaOp ReduceWindowWithGeneralPadding(XlaOp operand, XlaOp init_value, const XlaComputation& computation,
                                     const IntList& window_dimensions, const IntList& window_strides,
                                     const IntList& base_dilations, const IntList& window_dilations,
                                     const PaddingPairs& padding) {
  return ReduceWindowWithGeneralPadding(std::vector<XlaOp>{operand}, std::vector<XlaOp>{init_value}, computation,
                                        window_dimensions, window_strides, base_dilations, window_dilations, padding);
}

XlaOp SelectAndScatterWithGeneralPadding(XlaOp operand, const XlaComputation& select, const IntList& window_dimensions,
                                         const IntList& window_strides, const PaddingPairs& padding, XlaOp source,
                                         XlaOp init_value, const XlaComputation& scatter) {
  return RunBuild(nullptr, {{operand, source, init_value}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    WindowAttributes attributes;
    VXLA_ASSIGN_OR_RETURN(attributes.window,
                          MakeWindow(Opcode::kSelectAndScatter, window_dimensions, window_strides, padding, {}, {}));
    return Emit(b, Opcode::kSelectAndScatter, {{operand, source, init_value}}, {}, std::move(attributes),
                {{select, scatter}});
  });
}

XlaOp SelectAndScatter(XlaOp operand, const XlaComputation& select, const IntList& window_dimensions,
                       const IntList& window_strides, Padding padding, XlaOp source, XlaOp init_value,
                       const XlaComputation& scatter) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder&) -> Result<XlaOp> {
    const auto sizes = operand.shape().dimensions();
    VXLA_ASSIGN_OR_RETURN(const PaddingPairs pairs,
                          MakePadding(Opcode::kSelectAndScatter, padding, IntList(sizes.begin(), sizes.end()),
                                      window_dimensions, window_strides));
    return SelectAndScatterWithGeneralPadding(operand, select, window_dimensions, window_strides, pairs, source,
                                              init_value, scatter);
  });
}

XlaOp Sort(const std::vector<XlaOp>& operands, const XlaComputation& comparator, int64_t dimension, bool is_stable) {
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) {
    const int64_t along = dimension == -1 ? operands[0].shape().rank() - 1 : dimension;
    return Emit(b, Opcode::kSort, operands, {}, SortAttributes{{along}, is_stable}, {{comparator}});
  });
}

XlaOp Sort(XlaOp operand) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder&) -> Result<XlaOp> {
    const Shape& shape = operand.shape();
    if (!shape.IsArray() || IsComplex(shape.element_type())) {  // sort_order_c1
      return InvalidArgument("sort: {} has no order of its own, a comparator is needed", shape.ToString());
    }
    XlaBuilder less("less");
    const XlaOp a = Parameter(&less, 0, Shape(shape.element_type()), "a");
    const XlaOp b = Parameter(&less, 1, Shape(shape.element_type()), "b");
    VXLA_ASSIGN_OR_RETURN(const XlaComputation comparator, less.Build(LtTotalOrder(a, b)));
    return Sort(std::vector<XlaOp>{operand}, comparator);
  });
}

XlaOp TopK(XlaOp operand, int64_t k, bool largest) {
  return EmitOne(nullptr, Opcode::kTopK, {operand}, {}, TopKAttributes{k, largest});
}

XlaOp Fft(XlaOp operand, FftType fft_type, const IntList& fft_length) {
  return EmitOne(nullptr, Opcode::kFft, {operand}, {}, FftAttributes{fft_type, fft_length});
}

XlaOp Cholesky(XlaOp a, bool lower) { return EmitOne(nullptr, Opcode::kCholesky, {a}, {}, CholeskyAttributes{lower}); }

XlaOp TriangularSolve(XlaOp a, XlaOp b, bool left_side, bool lower, bool unit_diagonal, TransposeKind transpose_a) {
  return EmitOne(nullptr, Opcode::kTriangularSolve, {a, b}, {},
                 TriangularSolveAttributes{left_side, lower, unit_diagonal, transpose_a});
}

XlaOp BatchNormTraining(XlaOp operand, XlaOp scale, XlaOp offset, float epsilon, int64_t feature_index) {
  return EmitOne(nullptr, Opcode::kBatchNormTraining, {operand, scale, offset}, {},
                 BatchNormAttributes{epsilon, feature_index});
}

XlaOp BatchNormInference(XlaOp operand, XlaOp scale, XlaOp offset, XlaOp mean, XlaOp variance, float epsilon,
                         int64_t feature_index) {
  return EmitOne(nullptr, Opcode::kBatchNormInference, {operand, scale, offset, mean, variance}, {},
                 BatchNormAttributes{epsilon, feature_index});
}

XlaOp BatchNormGrad(XlaOp operand, XlaOp scale, XlaOp mean, XlaOp variance, XlaOp grad_output, float epsilon,
                    int64_t feature_index) {
  return EmitOne(nullptr, Opcode::kBatchNormGrad, {operand, scale, mean, variance, grad_output}, {},
                 BatchNormAttributes{epsilon, feature_index});
}

XlaOp RngNormal(XlaOp mu, XlaOp sigma, const Shape& shape) {
  return EmitOne(nullptr, Opcode::kRng, {mu, sigma}, shape, RngAttributes{RngDistribution::kNormal});
}

XlaOp RngUniform(XlaOp a, XlaOp b, const Shape& shape) {
  return EmitOne(nullptr, Opcode::kRng, {a, b}, shape, RngAttributes{RngDistribution::kUniform});
}

XlaOp RngBernoulli(XlaOp mean, const Shape& shape) {
  return RunBuild(nullptr, {{mean}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (mean.shape() != Shape(ElementType::kF32) || shape.element_type() != ElementType::kU32) {  // rng_bernoulli_c1
      return InvalidArgument("rng-bernoulli: mean {} and result {}, f32[] and u32 needed", mean.shape().ToString(),
                             shape.ToString());
    }
    Shape numbers = shape;
    numbers.set_element_type(ElementType::kF32);
    const XlaOp uniform = RngUniform(ConstantR0<float>(&b, 0), ConstantR0<float>(&b, 1), numbers);
    return ConvertElementType(Lt(uniform, mean), ElementType::kU32);
  });
}

XlaOp RngGetAndUpdateState(XlaBuilder* builder, int64_t delta, const Shape& shape) {
  return EmitOne(builder, Opcode::kRngGetAndUpdateState, {}, shape, RngGetAndUpdateStateAttributes{delta});
}

XlaOp RngBitGenerator(RngAlgorithm algorithm, XlaOp initial_state, const Shape& shape) {
  return RunBuild(nullptr, {{initial_state}}, [&](XlaBuilder& b) {
    return Emit(b, Opcode::kRngBitGenerator, {{initial_state}}, Shape::Tuple({initial_state.shape(), shape}),
                RngBitGeneratorAttributes{algorithm});
  });
}

}  // namespace VXLA_NAMESPACE
