// scan(inputs ..., initial carries ...): the computation takes a slice of each input and the carries, and gives a slice
// of each output and the next carries; the result is (outputs ..., last carries ...).
#include <algorithm>
#include <cstring>

#include "backend/cpu/eval.h"

namespace vxla {
namespace {

// The position of `slice` in rows: element (o, i) of a slice is element (o, step, i) of the array.
struct Rows {
  int64_t outer = 1, inner = 1;  // inner in bytes
};
Rows RowsOf(const Shape& array, int dimension) {
  Rows rows;
  rows.inner = StorageBytes(array.element_type());
  for (int d = 0; d < dimension; ++d) rows.outer *= array.dimension(d);
  for (int d = dimension + 1; d < array.rank(); ++d) rows.inner *= array.dimension(d);
  return rows;
}

Literal TakeSlice(const Literal& array, int dimension, int64_t step, const Shape& shape) {
  Literal slice(shape);
  const Rows rows = RowsOf(array.shape(), dimension);
  for (int64_t o = 0; rows.inner > 0 && o < rows.outer; ++o) {
    std::memcpy(slice.mutable_bytes().data() + o * rows.inner,
                array.bytes().data() + (o * array.shape().dimension(dimension) + step) * rows.inner,
                static_cast<size_t>(rows.inner));
  }
  return slice;
}

void PutSlice(const Literal& slice, int dimension, int64_t step, Literal& array) {
  const Rows rows = RowsOf(array.shape(), dimension);
  for (int64_t o = 0; rows.inner > 0 && o < rows.outer; ++o) {
    std::memcpy(array.mutable_bytes().data() + (o * array.shape().dimension(dimension) + step) * rows.inner,
                slice.bytes().data() + o * rows.inner, static_cast<size_t>(rows.inner));
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
  const int64_t steps = operands[0].shape().dimension(dimension);
  const Computation& body = *instruction.called(0);
  std::vector<Literal> outputs;
  for (size_t k = 0; k < output_count; ++k) outputs.emplace_back(shapes[k]);
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
    for (size_t k = 0; k < output_count; ++k) PutSlice(values[k].literal(), dimension, step, outputs[k]);
    carries.assign(std::make_move_iterator(values.begin() + static_cast<int64_t>(output_count)),
                   std::make_move_iterator(values.end()));
  }
  std::vector<Value> results;
  for (Literal& output : outputs) results.emplace_back(std::move(output));
  std::ranges::move(carries, std::back_inserter(results));
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

}  // namespace vxla
