// scan(inputs ..., initial carries ...): the computation takes a slice of each input and the carries, and gives a slice
// of each output and the next carries; the result is (outputs ..., last carries ...).
#include <algorithm>

#include "backend/cpu/reference/arithmetic/block.h"
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

// The position of `slice` in rows: element (o, i) of a slice is element (o, step, i) of the array.
struct Rows {
  int64_t outer = 1, inner = 1;
};

// The live sizes of a slice among those of its array, and the other way; the scanned dimension may be gone in the
// slice.
int SliceDimension(const Shape& slice, const Shape& array, int dimension, int d) {
  return slice.rank() == array.rank() || d < dimension ? d : d - 1;
}

Rows RowsOf(const Shape& array, int dimension) {
  Rows rows;
  for (int d = 0; d < dimension; ++d) rows.outer *= array.dimension(d);
  for (int d = dimension + 1; d < array.rank(); ++d) rows.inner *= array.dimension(d);
  return rows;
}

Literal TakeSlice(const Literal& array, int dimension, int64_t step, const Shape& shape) {
  Literal slice(shape);
  const Rows rows = RowsOf(array.shape(), dimension);
  for (int64_t o = 0; rows.inner > 0 && o < rows.outer; ++o) {
    CopyRun(array, (o * array.shape().dimension(dimension) + step) * rows.inner, slice, o * rows.inner, rows.inner);
  }
  for (int d = 0; d < array.shape().rank(); ++d) {
    const int to = SliceDimension(shape, array.shape(), dimension, d);
    if (d != dimension && shape.is_dynamic_dimension(to)) slice.set_dynamic_size(to, array.dynamic_size(d));
  }
  return slice;
}

// The array that the steps fill lives where their slices do: alike in every step.
Status TakeLiveSizes(const Instruction& instruction, const Literal& slice, int dimension, bool first, Literal& array) {
  for (int d = 0; d < array.shape().rank(); ++d) {
    if (d == dimension || !array.shape().is_dynamic_dimension(d)) continue;
    const int64_t size = slice.dynamic_size(SliceDimension(slice.shape(), array.shape(), dimension, d));
    if (first) array.set_dynamic_size(d, size);
    if (size == array.dynamic_size(d)) continue;
    return InvalidArgument("scan {}: dimension {} of {} comes out with the live sizes {} and {}", instruction.name(), d,
                           array.shape().ToString(), array.dynamic_size(d), size);
  }
  return OkStatus();
}

// The steps are those that live. Inputs that are static along the dimension are as long as the bound and give their
// first.
Result<int64_t> LiveSteps(const Instruction& instruction, std::span<const Value> inputs, int dimension) {
  int64_t steps = inputs[0].shape().dimension(dimension);
  int first = -1;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].shape().is_dynamic_dimension(dimension)) continue;
    const int64_t live = inputs[k].literal().dynamic_size(dimension);
    if (first >= 0 && live != steps) {
      return InvalidArgument("scan {}: dimension {} of operand {} has the live size {}, of operand {} {}",
                             instruction.name(), dimension, first, steps, k, live);
    }
    if (first < 0) first = static_cast<int>(k);
    steps = live;
  }
  return steps;
}

void PutSlice(const Literal& slice, int dimension, int64_t step, Literal& array) {
  const Rows rows = RowsOf(array.shape(), dimension);
  for (int64_t o = 0; rows.inner > 0 && o < rows.outer; ++o) {
    CopyRun(slice, o * rows.inner, array, (o * array.shape().dimension(dimension) + step) * rows.inner, rows.inner);
  }
}

}  // namespace

EvalResult EvalScan(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<ScanAttributes>();
  std::vector<Shape> shapes{instruction.shape()};
  if (instruction.shape().IsTuple()) shapes = instruction.shape().tuple_elements();
  const size_t carry_count = static_cast<size_t>(a.num_carries);
  const size_t input_count = operands.size() - carry_count, output_count = shapes.size() - carry_count;
  const int dimension = static_cast<int>(a.dimensions[0]);
  VXLA_ASSIGN_OR_RETURN(const int64_t steps, LiveSteps(instruction, operands.first(input_count), dimension));
  const Computation& body = *instruction.called(0);
  std::vector<Literal> outputs;
  for (size_t k = 0; k < output_count; ++k) {
    Literal& output = outputs.emplace_back(shapes[k]);
    if (shapes[k].is_dynamic_dimension(dimension)) output.set_dynamic_size(dimension, steps);
  }
  std::vector<Value> carries(operands.begin() + static_cast<int64_t>(input_count), operands.end());
  for (int64_t n = 0; n < steps; ++n) {
    const int64_t step = a.is_reverse ? steps - 1 - n : n;
    std::vector<Value> arguments;
    for (size_t k = 0; k < input_count; ++k) {
      const Shape& shape = body.parameter(static_cast<int64_t>(k))->shape();
      arguments.emplace_back(TakeSlice(operands[k].literal(), dimension, step, shape));
    }
    std::ranges::move(carries, std::back_inserter(arguments));
    VXLA_ASSIGN_OR_RETURN(Value given, context.Run(body, arguments));
    std::vector<Value> values;
    if (given.IsTuple()) {
      values = std::move(given.elements());
    } else {
      values.push_back(std::move(given));
    }
    for (size_t k = 0; k < output_count; ++k) {
      PutSlice(values[k].literal(), dimension, step, outputs[k]);
      VXLA_RETURN_IF_ERROR(TakeLiveSizes(instruction, values[k].literal(), dimension, n == 0, outputs[k]));
    }
    carries.assign(std::make_move_iterator(values.begin() + static_cast<int64_t>(output_count)),
                   std::make_move_iterator(values.end()));
  }
  std::vector<Value> results;
  for (Literal& output : outputs) results.emplace_back(std::move(output));
  std::ranges::move(carries, std::back_inserter(results));
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

}  // namespace VXLA_NAMESPACE
