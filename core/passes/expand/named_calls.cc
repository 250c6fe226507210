#include "core/passes/base/expansion.h"
#include "core/passes/expand/repairs.h"
#include "core/passes/sizes/size_math.h"

namespace VXLA_NAMESPACE {
namespace {

Instruction* PadToStatic(Expansion& make, const Instruction& call) {
  if (call.operand_count() != 1 || !call.operand(0)->shape().IsArray()) return nullptr;
  Instruction* value = call.operand(0);
  const Shape from = value->shape();
  std::vector<Shape> stated{AtBounds(from)};
  stated.insert(stated.end(), static_cast<size_t>(from.rank()), Shape(ElementType::kS32));
  if (!Compatible(call.shape(), Shape::Tuple(stated))) return nullptr;
  std::vector<Instruction*> results{nullptr};
  for (int d = 0; d < from.rank(); ++d) results.push_back(make.LiveSize(value, d));
  for (int d = 0; d < from.rank(); ++d) {
    if (from.is_dynamic_dimension(d)) value = make.AtBound(value, d);
  }
  results[0] = value;
  return make.TupleOf(std::move(results));
}

Instruction* SliceToDynamic(Expansion& make, const Instruction& call) {
  const Shape& stated = call.shape();
  if (!stated.IsArray() || call.operand_count() != stated.rank() + 1 || !call.operand(0)->shape().IsArray() ||
      !(AtBounds(stated) == AtBounds(call.operand(0)->shape()))) {
    return nullptr;
  }
  Instruction* value = call.operand(0);
  for (int d = 0; d < stated.rank(); ++d) {
    if (!(call.operand(d + 1)->shape() == Shape(ElementType::kS32))) return nullptr;
    if (stated.is_dynamic_dimension(d)) value = make.WithLiveSize(value, d, call.operand(d + 1));
  }
  return value == call.operand(0) ? nullptr : value;
}

Instruction* Convolved(Expansion& make, const Instruction& call, const CustomCallAttributes& a) {
  if (call.operand_count() != 2 || !call.shape().IsArray() || !a.window || !a.dim_labels) return nullptr;
  if (!a.padding_type.text.empty() && a.padding_type.text != "PADDING_VALID") return nullptr;
  ConvolutionAttributes attributes;
  attributes.window = *a.window;
  attributes.dim_labels = *a.dim_labels;
  attributes.feature_group_count = a.feature_group_count;
  attributes.batch_group_count = a.batch_group_count;
  attributes.operand_precision = a.operand_precision;
  return make.Add(Opcode::kConvolution, call.shape(), {call.operand(0), call.operand(1)}, std::move(attributes));
}

}  // namespace

bool ReplaceNamedCalls(Module& module) {
  return ExpandEach(
      AllComputations(module),
      [](Computation& computation, Instruction* call) -> Instruction* {
        if (call->opcode() != Opcode::kCustomCall) return nullptr;
        const auto& a = call->attributes<CustomCallAttributes>();
        Expansion make(computation, call);
        if (a.custom_call_target == "PadToStatic") return PadToStatic(make, *call);
        if (a.custom_call_target == "SliceToDynamic") return SliceToDynamic(make, *call);
        return a.custom_call_target == "DynamicConvolutionForward" ? Convolved(make, *call, a) : nullptr;
      },
      LiveSizesIn::kExpanded);
}

}  // namespace VXLA_NAMESPACE
