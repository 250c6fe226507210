#include <algorithm>

#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// The labels name each dimension of a shape once.
Status CheckLabels(const Instruction& instruction, const char* what, const Shape& shape, int64_t first, int64_t second,
                   const IntList& spatial) {
  IntList all{first, second};
  all.insert(all.end(), spatial.begin(), spatial.end());
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, what, all.size(), shape));
  return ExpectUniqueDimensions(instruction, what, all, shape);
}

Status CheckGroups(const Instruction& instruction, const ConvolutionDimensions& d) {
  const auto& a = instruction.attributes<ConvolutionAttributes>();
  const Shape& lhs = instruction.operand(0)->shape();
  const Shape& rhs = instruction.operand(1)->shape();
  const int64_t feature_groups = a.feature_group_count, batch_groups = a.batch_group_count;
  if (feature_groups < 1)
    return OpError(instruction, "feature_group_count {} is below 1", feature_groups);  // convolution_c21
  if (batch_groups < 1)
    return OpError(instruction, "batch_group_count {} is below 1", batch_groups);  // convolution_c22
  if (feature_groups > 1 && batch_groups > 1) {                                    // convolution_c23
    return OpError(instruction, "feature_group_count {} and batch_group_count {} are both above 1", feature_groups,
                   batch_groups);
  }
  const int64_t batch = lhs.dimension(d.input_batch), features = lhs.dimension(d.input_feature);
  const int64_t kernel_inputs = rhs.dimension(d.kernel_input_feature);
  const int64_t kernel_outputs = rhs.dimension(d.kernel_output_feature);
  if (batch % batch_groups != 0) {  // convolution_c10
    return OpError(instruction, "batch {} of {} is no multiple of batch_group_count {}", batch, lhs.ToString(),
                   batch_groups);
  }
  if (features % feature_groups != 0) {  // convolution_c11
    return OpError(instruction, "{} input features of {} are no multiple of feature_group_count {}", features,
                   lhs.ToString(), feature_groups);
  }
  if (kernel_inputs != features / feature_groups) {  // convolution_c14
    return OpError(instruction, "{} input features of kernel {}, {} needed", kernel_inputs, rhs.ToString(),
                   features / feature_groups);
  }
  if (kernel_outputs % feature_groups != 0 || kernel_outputs % batch_groups != 0) {  // convolution_c15, convolution_c16
    return OpError(instruction, "{} output features of kernel {} are no multiple of the group count {}", kernel_outputs,
                   rhs.ToString(), std::max(feature_groups, batch_groups));
  }
  return OkStatus();
}

}  // namespace

Result<Shape> InferConvolution(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_ASSIGN_OR_RETURN(const ElementType type, ProductElementType(instruction));  // convolution_c27
  const auto& a = instruction.attributes<ConvolutionAttributes>();
  if (!a.dim_labels) return OpError(instruction, "dim_labels are missing");  // convolution_c4
  VXLA_RETURN_IF_ERROR(ExpectPrecision(instruction, a.operand_precision));
  const ConvolutionDimensions& d = *a.dim_labels;
  const Shape& lhs = instruction.operand(0)->shape();
  const Shape& rhs = instruction.operand(1)->shape();
  const size_t spatial = d.input_spatial.size();
  if (d.kernel_spatial.size() != spatial || d.output_spatial.size() != spatial) {
    // convolution_c1
    return OpError(instruction, "dim_labels have {}, {} and {} spatial dimensions", spatial, d.kernel_spatial.size(),
                   d.output_spatial.size());
  }
  Window window = a.window;
  if (window.empty()) {  // text without a window: sizes of the kernel, no padding
    for (size_t i = 0; i < spatial && d.kernel_spatial[i] >= 0 && d.kernel_spatial[i] < rhs.rank(); ++i) {
      window.push_back({.size = rhs.dimension(d.kernel_spatial[i])});
    }
  }
  if (window.size() != spatial) {  // convolution_c2
    return OpError(instruction, "the window has {} dimensions for {} spatial ones", window.size(), spatial);
  }
  VXLA_RETURN_IF_ERROR(CheckLabels(instruction, "dim_labels", lhs, d.input_batch, d.input_feature, d.input_spatial));
  VXLA_RETURN_IF_ERROR(
      CheckLabels(instruction, "dim_labels", rhs, d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial));
  VXLA_RETURN_IF_ERROR(CheckGroups(instruction, d));
  Shape result(type, std::vector<int64_t>(spatial + 2, 0));
  VXLA_RETURN_IF_ERROR(
      CheckLabels(instruction, "dim_labels", result, d.output_batch, d.output_feature, d.output_spatial));
  result.set_dimension(d.output_batch, lhs.dimension(d.input_batch) / a.batch_group_count);
  result.set_dimension(d.output_feature, rhs.dimension(d.kernel_output_feature));
  result.set_dynamic_dimension(d.output_batch, lhs.is_dynamic_dimension(d.input_batch));
  result.set_dynamic_dimension(d.output_feature, rhs.is_dynamic_dimension(d.kernel_output_feature));
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t kernel_size = rhs.dimension(d.kernel_spatial[i]);
    if (window[i].size != kernel_size) {  // convolution_c3
      return OpError(instruction, "window size {} of spatial dimension {} is not {}, that of kernel {}", window[i].size,
                     i, kernel_size, rhs.ToString());
    }
    int64_t positions = 0;
    if (kernel_size > 0) {
      VXLA_ASSIGN_OR_RETURN(positions, WindowPositions(instruction, i, lhs.dimension(d.input_spatial[i]), window[i]));
    } else {  // an empty kernel sums nothing at each position of the padded input
      WindowDimension one = window[i];
      one.size = 1;
      VXLA_ASSIGN_OR_RETURN(positions, WindowPositions(instruction, i, lhs.dimension(d.input_spatial[i]), one));
    }
    result.set_dimension(d.output_spatial[i], positions);  // convolution_c25
    result.set_dynamic_dimension(d.output_spatial[i], lhs.is_dynamic_dimension(d.input_spatial[i]) ||
                                                          rhs.is_dynamic_dimension(d.kernel_spatial[i]));
  }
  return result;
}

}  // namespace VXLA_NAMESPACE
