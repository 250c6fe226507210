#include "core/limits.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// The sizes that a window leaves of a shape, one position after the other.
Result<std::vector<int64_t>> WindowedSizes(const Instruction& instruction, const Shape& shape) {
  const Window& window = instruction.attributes<WindowAttributes>().window;
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "window", window.size(), shape));
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const int64_t positions, WindowPositions(instruction, i, shape.dimension(i), window[i]));
    sizes.push_back(positions);
  }
  __int128 taps = 1;
  for (const WindowDimension& dimension : window) {
    taps *= dimension.size;
    if (taps <= kMaxPaddedSize) continue;
    return OpError(instruction, "a window of more than 2^61 elements");  // window_c7
  }
  return sizes;
}

}  // namespace

// N arrays, then N initial values; the computation takes N accumulators, then N values.
Result<Shape> InferReduceWindow(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 2));  // reduce_window_c1
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  if (instruction.operand_count() % 2 != 0) {  // reduce_window_c1
    return OpError(instruction, "{} operands are not N arrays and N initial values", instruction.operand_count());
  }
  const int n = instruction.operand_count() / 2;
  const Shape first = WithFlagsOfOperands(instruction, n);
  for (const WindowDimension& dimension : instruction.attributes<WindowAttributes>().window) {
    // reduce_window_c4
    if (dimension.reversal) return OpError(instruction, "a reversed window has no meaning here");
  }
  VXLA_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, WindowedSizes(instruction, first));  // reduce_window_c15
  std::vector<Shape> scalars, results, least;
  for (int k = 0; k < n; ++k) {
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, k, 0));  // reduce_window_c2
    VXLA_RETURN_IF_ERROR(ExpectScalar(instruction, n + k));
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, n + k, k));  // reduce_window_c3
    scalars.push_back(ScalarOf(instruction.operand(k)->shape()));
    results.push_back(Shape(scalars.back().element_type(), sizes));
    least.push_back(results.back());
    for (int i = 0; i < first.rank(); ++i) {
      results.back().set_dynamic_dimension(i, first.is_dynamic_dimension(i));
      least.back().set_dynamic_dimension(i, instruction.operand(0)->shape().is_dynamic_dimension(i));
    }
  }
  const Shape result = Collate(scalars);
  scalars.insert(scalars.end(), scalars.begin(), scalars.begin() + n);
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), scalars, &result));  // reduce_window_c13
  return StatedOr(instruction, Collate(std::move(least)), Collate(std::move(results)));
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
  return WithElementType(operand, operand.element_type());
}

}  // namespace VXLA_NAMESPACE
