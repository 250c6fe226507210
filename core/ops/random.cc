#include <algorithm>

#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

// rng(low, high) or rng(mean, deviation)
Result<Shape> InferRng(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  if (instruction.operand_count() != 2) {  // rng_c3
    return OpError(instruction, "{} operands, 2 needed", instruction.operand_count());
  }
  const ElementType type = instruction.shape().element_type();
  for (int i = 0; i < 2; ++i) {
    VXLA_RETURN_IF_ERROR(ExpectScalar(instruction, i));            // rng_c1
    if (instruction.operand(i)->shape().element_type() != type) {  // rng_c4
      return OpError(instruction, "operand {} is of {}, the result of {}", i,
                     ElementTypeName(instruction.operand(i)->shape().element_type()), ElementTypeName(type));
    }
  }
  const bool normal = instruction.attributes<RngAttributes>().distribution == RngDistribution::kNormal;
  if (IsComplex(type) || (normal && !IsFloating(type))) {  // rng_c2
    return OpError(instruction, "no such distribution over {}", ElementTypeName(type));
  }
  return instruction.shape();
}

// (new state, bits): the state's shape is the operand's; the bits' shape is stated.
Result<Shape> InferRngBitGenerator(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  const Shape& state = instruction.operand(0)->shape();
  const Shape& stated = instruction.shape();
  if (!stated.IsTuple() || stated.tuple_elements().size() != 2 || !Compatible(stated.tuple_elements()[0], state) ||
      !stated.tuple_elements()[1].IsArray()) {  // rng_bit_generator_c3
    return OpError(instruction, "the stated shape {} is not ({}, an array)", stated.ToString(), state.ToString());
  }
  const ElementType bits = stated.tuple_elements()[1].element_type();
  if (!IsInteger(bits) && !IsFloating(bits)) {  // rng_bit_generator_c1
    return OpError(instruction, "bits of {}: an integer or floating type needed", ElementTypeName(bits));
  }
  if (!HasIntegerOfItsWidth(bits)) {  // rng_bit_generator_c1
    return OpError(instruction, "bits of {}: no integer type has its width", ElementTypeName(bits));
  }
  const auto algorithm = instruction.attributes<RngBitGeneratorAttributes>().algorithm;
  const int64_t state_bits = std::min<int64_t>(state.ElementCount(), 1024) * BitWidth(state.element_type());
  const bool unsigned_state = IsUnsigned(state.element_type()) && state.rank() == 1;
  const bool fits = algorithm == RngAlgorithm::kThreeFry ? state_bits == 128
                    : algorithm == RngAlgorithm::kPhilox ? state_bits == 128 || state_bits == 192
                                                         : state_bits > 0;
  if (!unsigned_state || !fits) {  // rng_bit_generator_c2
    return OpError(instruction, "a state of {} does not fit the algorithm", state.ToString());
  }
  return Shape::Tuple({WithFlagsOf(stated.tuple_elements()[0], state), stated.tuple_elements()[1]});
}

Result<Shape> InferRngGetAndUpdateState(const Instruction& instruction) {
  const Shape state(ElementType::kU64, {2});
  VXLA_RETURN_IF_ERROR(ExpectStated(instruction, state));
  return instruction.shape();
}

}  // namespace VXLA_NAMESPACE
