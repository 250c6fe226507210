#include "core/limits.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// The sizes that a window leaves of a shape, one position after the other.
Result<std::vector<int64_t>> WindowedSizes(const Instruction& instruction, const Shape& shape) {
  const Window& window = instruction.attributes<WindowAttributes>().window;
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "window", window.size(), shape));
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.rank(); ++i)
    VXLA_SET_OR_RETURN(sizes.emplace_back(), WindowPositions(instruction, i, shape.dimension(i), window[i]));
  __int128 taps = 1;
  for (const WindowDimension& dimension : window) {
    taps *= dimension.size;
    if (taps <= kMaxPaddedSize) continue;
    return OpError(instruction, "a window of more than 2^61 elements");  // window_c7
  }
  return sizes;
}

}  // namespace

Result<Shape> InferReduceWindow(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const int n, ExpectArraysAndInits(instruction));
  const Shape first = WithFlagsOfOperands(instruction, n);
  for (const WindowDimension& dimension : instruction.attributes<WindowAttributes>().window) {
    // reduce_window_c4
    if (dimension.reversal) return OpError(instruction, "a reversed window has no meaning here");
  }
  VXLA_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, WindowedSizes(instruction, first));  // reduce_window_c15
  const Shape& own = instruction.operand(0)->shape();
  Shape reduced(own.element_type(), sizes), least = reduced;
  for (int i = 0; i < first.rank(); ++i) {
    reduced.set_dynamic_dimension(i, first.is_dynamic_dimension(i));
    least.set_dynamic_dimension(i, own.is_dynamic_dimension(i));
  }
  return InferReduced(instruction, reduced, least);
}

// select-and-scatter(operand, source, init), select, scatter
Result<Shape> InferSelectAndScatter(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 2));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  const Shape& operand = instruction.operand(0)->shape();
  const Shape& source = instruction.operand(1)->shape();
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, 1, 0));  // select_and_scatter_c1
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, 2, 0));  // select_and_scatter_c3
  VXLA_RETURN_IF_ERROR(ExpectScalar(instruction, 2));
  for (const WindowDimension& d : instruction.attributes<WindowAttributes>().window) {
    if (d.lhs_dilate == 1 && d.rhs_dilate == 1 && !d.reversal) continue;
    return OpError(instruction, "a dilated or reversed window has no meaning here");  // select_and_scatter_c11
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, WindowedSizes(instruction, operand));
  const Shape windowed(operand.element_type(), std::move(sizes));
  if (!SameDimensions(source, windowed)) {  // select_and_scatter_c2
    return OpError(instruction, "source {} is not {}, the windows' shape", source.ToString(), windowed.ToString());
  }
  const std::vector<Shape> two(2, ScalarOf(operand));
  const Shape pred(ElementType::kPred);
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), two, &pred));    // select_and_scatter_c9
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(1), two, &two[0]));  // select_and_scatter_c10
  return operand.WithoutLayout();
}

}  // namespace VXLA_NAMESPACE
