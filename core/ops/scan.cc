#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// What lies at one position of the dimension: all other sizes; the dimension itself is gone, or of size 1 where `rank`
// keeps it.
Shape SliceOf(const Shape& array, int64_t dimension, int rank) {
  Shape slice(array.element_type());
  for (int i = 0; i < array.rank(); ++i) {
    if (i != dimension) {
      slice.AddDimension(array, i);
    } else if (rank == array.rank()) {
      slice.AddDimension(1);
    }
  }
  return slice;
}

bool IsSliceOf(const Shape& slice, const Shape& array, int64_t dimension) {
  return slice.IsArray() && slice.element_type() == array.element_type() &&
         SameDimensions(slice, SliceOf(array, dimension, slice.rank()));
}

// The shapes of a scan: those of its operands or of its results, the arrays along the dimension first, then carries.
struct Sequence {
  const char* what;
  std::vector<Shape> shapes;
  size_t arrays = 0;
};

// Each array has the steps along the dimension, and the computation's value for it is a slice; a carry stays as it is.
Status CheckSequence(const Instruction& instruction, const Sequence& sequence, const std::vector<Shape>& step,
                     int64_t dimension, int64_t steps) {
  const std::string& name = instruction.called(0)->name();
  if (step.size() != sequence.shapes.size()) {  // scan_c2
    return OpError(instruction, "computation {} has {} {}, {} needed", name, step.size(), sequence.what,
                   sequence.shapes.size());
  }
  for (size_t k = 0; k < step.size(); ++k) {
    const Shape& whole = sequence.shapes[k];
    if (k >= sequence.arrays) {
      if (Compatible(step[k], whole)) continue;  // scan_c3
      return OpError(instruction, "carry {} is {} among the {} of {}, {} needed", k - sequence.arrays,
                     step[k].ToString(), sequence.what, name, whole.ToString());
    }
    if (dimension < 0 || dimension >= whole.rank() || whole.dimension(dimension) != steps) {  // scan_c4
      return OpError(instruction, "{} has not {} steps along dimension {}", whole.ToString(), steps, dimension);
    }
    if (!IsSliceOf(step[k], whole, dimension)) {  // scan_c5
      return OpError(instruction, "{} among the {} of {} is no slice of {} along dimension {}", step[k].ToString(),
                     sequence.what, name, whole.ToString(), dimension);
    }
  }
  return OkStatus();
}

// The computation's parameters are dynamic where what they are given is: slices of the inputs, the carries.
Status CheckStepFlags(const Instruction& instruction, int64_t dimension, size_t inputs) {
  const Computation& step = *instruction.called(0);
  const std::vector<Shape> given = Parts(step.root()->shape());
  for (size_t k = 0; k < step.parameters().size(); ++k) {
    const Shape& operand = instruction.operand(k)->shape();
    const Shape& parameter = step.parameter(k)->shape();
    const size_t carries_from_end = step.parameters().size() - k;
    if (k >= inputs && !Compatible(operand, given[given.size() - carries_from_end])) {  // scan_c8
      return OpError(instruction, "carry {} begins as {} and becomes {}", k - inputs, operand.ToString(),
                     given[given.size() - carries_from_end].ToString());
    }
    const Shape needed = k < inputs ? SliceOf(operand, dimension, parameter.rank())
                                    : WithFlagsOf(operand, given[given.size() - carries_from_end]);
    if (KeepsFlags(needed, parameter)) continue;
    return OpError(instruction, "parameter {} of computation {} is {}, {} needed", k, step.name(), parameter.ToString(),
                   WithFlagsOf(parameter, needed).ToString());  // scan_c7
  }
  return OkStatus();
}

// The stated results, dynamic along the dimension where an input is, elsewhere where the computation's value is.
Shape WithStepFlags(const Instruction& instruction, int64_t dimension, size_t inputs, size_t outputs) {
  std::vector<Shape> results = Parts(instruction.shape());
  const std::vector<Shape> given = Parts(instruction.called(0)->root()->shape());
  bool steps = false;
  for (size_t k = 0; k < inputs; ++k) {
    steps = steps || instruction.operand(k)->shape().is_dynamic_dimension(dimension);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (k >= outputs) {
      const Shape& initial = instruction.operand(k - outputs + inputs)->shape();
      results[k] = WithFlagsOf(WithFlagsOf(results[k], given[k]), initial);
      continue;
    }
    const bool keeps = given[k].rank() == results[k].rank();
    for (int i = 0; i < results[k].rank(); ++i) {
      const bool dynamic = i == dimension ? steps : given[k].is_dynamic_dimension(keeps || i < dimension ? i : i - 1);
      if (dynamic) results[k].set_dynamic_dimension(i, true);
    }
  }
  return instruction.shape().IsTuple() ? Shape::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace

// scan(inputs..., initial carries...) -> (outputs..., carries...): the computation takes a slice of each input and the
// carries, and gives a slice of each output and the carries. The outputs' shapes are stated.
Result<Shape> InferScan(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  const auto& a = instruction.attributes<ScanAttributes>();
  if (a.num_carries < 0 || a.num_carries >= instruction.operand_count()) {  // scan_c1
    return OpError(instruction, "num_carries {} is not in 0 to {}, one less than the operands", a.num_carries,
                   instruction.operand_count() - 1);
  }
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectOneDimension(instruction, a.dimensions));
  const int64_t dimension = a.dimensions[0];
  const size_t carries = static_cast<size_t>(a.num_carries);
  const Computation& step = *instruction.called(0);
  const int64_t steps = instruction.operand(0)->shape().dimension(dimension);
  std::vector<Shape> parameters;
  for (const Instruction* parameter : step.parameters()) {
    parameters.push_back(parameter == nullptr ? Shape() : parameter->shape());
  }
  const Sequence inputs{"parameters", OperandShapes(instruction), instruction.operand_count() - carries};
  VXLA_RETURN_IF_ERROR(CheckSequence(instruction, inputs, parameters, dimension, steps));
  const std::vector<Shape> results = Parts(instruction.shape());
  if (results.size() < carries) {  // scan_c6
    return OpError(instruction, "the stated shape {} holds no {} carries", instruction.shape().ToString(), carries);
  }
  const Sequence outputs{"results", results, results.size() - carries};
  VXLA_RETURN_IF_ERROR(CheckSequence(instruction, outputs, Parts(step.root()->shape()), dimension, steps));
  VXLA_RETURN_IF_ERROR(CheckStepFlags(instruction, dimension, inputs.arrays));
  return WithStepFlags(instruction, dimension, inputs.arrays, outputs.arrays);
}

}  // namespace VXLA_NAMESPACE
