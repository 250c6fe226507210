#include "backend/cpu/reference/dynamic.h"

#include <algorithm>

#include "core/ops/op_support.h"
#include "core/sizes/live_instruction.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

// Ops whose results are their operands' values, or those of a computation that is evaluated instruction by instruction:
// the sizes travel with the values.
bool CarriesSizes(Opcode opcode) {
  const std::string_view family = FactsOf(opcode).family;
  switch (opcode) {
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAddDependency:
    case Opcode::kDomain:
    case Opcode::kAfterAll:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kConditional:
    case Opcode::kWhile:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kDynamicReshape:
    case Opcode::kScan:
      return true;
    default:
      // What other devices or the host send brings its sizes along.
      return family == "collectives" || family == "host_transfer";
  }
}

bool HoldsLiveSizes(const Value& value) {
  if (value.IsTuple()) return std::ranges::any_of(value.elements(), HoldsLiveSizes);
  return value.literal().is_dynamic();
}

// The value is dynamic exactly where `stated` is.
bool HasStatedFlags(const Value& value, const Shape& stated) {
  if (value.IsTuple()) return std::ranges::equal(value.elements(), stated.tuple_elements(), HasStatedFlags);
  for (int d = 0; d < stated.rank(); ++d) {
    if (value.shape().is_dynamic_dimension(d) != stated.is_dynamic_dimension(d)) return false;
  }
  return stated.IsDynamic() == value.literal().is_dynamic();
}

// A static operand that is sorted along with dynamic ones stays static: beyond the live elements it is as it was.
void PutOverStatic(const std::vector<Value>& whole, std::vector<Value>& sorted) {
  for (size_t k = 0; k < whole.size(); ++k) {
    if (whole[k].literal().is_dynamic() || SameDimensions(whole[k].shape(), sorted[k].shape())) continue;
    Literal result = Value(whole[k]).Take();
    PutCorner(sorted[k].literal(), result);
    sorted[k] = Value(std::move(result));
  }
}

}  // namespace

bool NeedsLiveSizes(const Instruction& instruction, std::span<const Value> operands) {
  return instruction.shape().IsDynamic() || std::ranges::any_of(operands, HoldsLiveSizes);
}

Result<Value> PadToStated(const Instruction& instruction, Value value, const Shape& stated) {
  if (value.IsTuple()) {
    std::vector<Value> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      VXLA_ASSIGN_OR_RETURN(Value element,
                            PadToStated(instruction, std::move(value.elements()[i]), stated.tuple_elements()[i]));
      elements.push_back(std::move(element));
    }
    return Value::Tuple(std::move(elements));
  }
  const Shape& dense = value.shape();
  for (int d = 0; d < dense.rank(); ++d) {
    const bool fits = dense.dimension(d) == stated.dimension(d) ||
                      (stated.is_dynamic_dimension(d) && dense.dimension(d) < stated.dimension(d));
    if (!fits) {
      return OpError(instruction, "dimension {} of {} comes out with the live size {}", d, stated.ToString(),
                     dense.dimension(d));
    }
  }
  if (SameDimensions(dense, stated)) return Value(std::move(value).Take().Reshaped(stated));
  return Value(PadToBounds(value.literal(), stated));
}

Result<Value> WithStatedFlags(const Instruction& instruction, Value value, const Shape& stated) {
  if (value.IsTuple()) {
    if (HasStatedFlags(value, stated)) return value;
    std::vector<Value> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      VXLA_ASSIGN_OR_RETURN(Value element,
                            WithStatedFlags(instruction, value.elements()[i], stated.tuple_elements()[i]));
      elements.push_back(std::move(element));
    }
    return Value::Tuple(std::move(elements));
  }
  if (HasStatedFlags(value, stated)) return value;
  for (int d = 0; d < stated.rank(); ++d) {
    const int64_t size = value.literal().dynamic_size(d);
    if (size == stated.dimension(d) || stated.is_dynamic_dimension(d)) continue;
    return OpError(instruction, "dimension {} of {} comes out with the live size {}", d, stated.ToString(), size);
  }
  return Value(std::move(value).Take().Reshaped(stated));
}

Result<Value> EvaluateLive(EvalContext& context, const Instruction& instruction, std::span<Value> operands,
                           EvalFunction* function) {
  if (CarriesSizes(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(Value value, function(context, instruction, operands));
    return WithStatedFlags(instruction, std::move(value), instruction.shape());
  }
  const std::vector<Value> whole = instruction.opcode() == Opcode::kSort
                                       ? std::vector<Value>(operands.begin(), operands.end())
                                       : std::vector<Value>();
  LiveDimensions live;
  for (const Value& operand : operands)
    live.Add(operand.shape(), operand.IsTuple() ? std::vector<int64_t>() : LiveSizes(operand.literal()));
  LiveInstruction dense(instruction, std::move(live));
  VXLA_RETURN_IF_ERROR(dense.Build());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].IsTuple()) continue;
    const std::vector<int64_t>& sizes = dense.sizes()[k];
    if (std::ranges::equal(sizes, operands[k].shape().dimensions())) {
      if (operands[k].literal().is_dynamic()) {
        const Shape shape = WithoutFlags(operands[k].shape());
        operands[k] = Value(std::move(operands[k]).Take().Reshaped(shape));
      }
    } else {
      operands[k] = Value(CutTo(operands[k].literal(), sizes));
    }
  }
  VXLA_ASSIGN_OR_RETURN(Value value, function(context, dense.instruction(), operands));
  if (!whole.empty() && value.IsTuple()) PutOverStatic(whole, value.elements());
  return PadToStated(instruction, std::move(value), instruction.shape());
}

// The live size of one dimension.
EvalResult EvalGetDimensionSize(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  const int dimension = static_cast<int>(instruction.dimensions()[0]);
  return Literal::ScalarInt(ElementType::kS32, operands[0].literal().dynamic_size(dimension));
}

// The elements stay where they are, also those that become padding: a larger size brings them back.
EvalResult EvalSetDimensionSize(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  if (operands.size() == 1) {  // the elements at their bounds, whatever lives (core/passes/sizes/dynamic_padder.h)
    Shape at_bounds = WithoutFlags(operands[0].shape());
    return std::move(operands[0]).Take().Reshaped(at_bounds);
  }
  const Shape shape = operands[0].shape();
  Literal result = std::move(operands[0]).Take();
  for (size_t k = 0; k < instruction.dimensions().size(); ++k) {  // one in programs
    const int dimension = static_cast<int>(instruction.dimensions()[k]);
    const int64_t size = operands[k + 1].literal().GetInt(0);
    if (size < 0 || size > shape.dimension(dimension)) return SizeRangeError(instruction, k, size, shape);
    Shape dynamic = result.shape();
    dynamic.set_dynamic_dimension(dimension, true);
    result = std::move(result).Reshaped(dynamic);
    result.set_dynamic_size(dimension, size);
  }
  return WithStatedFlags(instruction, std::move(result), instruction.shape());
}

// The live elements in row-major order under sizes that are operands.
EvalResult EvalDynamicReshape(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  const Shape& stated = instruction.shape();
  Shape dense = WithoutFlags(stated);
  int64_t elements = 1;
  for (int d = 0; d < stated.rank(); ++d) {
    const int64_t size = operands[static_cast<size_t>(d) + 1].literal().GetInt(0);
    const bool fits =
        size == stated.dimension(d) || (stated.is_dynamic_dimension(d) && size >= 0 && size < stated.dimension(d));
    if (!fits) return OpError(instruction, "size {} does not fit dimension {} of {}", size, d, stated.ToString());
    dense.set_dimension(d, size);
    elements *= size;
  }
  Literal live = CutToLiveSizes(std::move(operands[0]).Take());
  if (live.element_count() != elements) {
    return OpError(instruction, "{} live elements cannot become {}", live.element_count(), dense.ToString());
  }
  return PadToBounds(std::move(live).Reshaped(dense), stated);
}

}  // namespace VXLA_NAMESPACE
