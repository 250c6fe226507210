#include <algorithm>

#include "core/ops/op_support.h"

namespace vxla {
namespace {

bool HasUnboundedDimension(const Shape& shape) {
  return std::ranges::find(shape.dimensions(), kUnboundedSize) != shape.dimensions().end() ||
         std::ranges::any_of(shape.tuple_elements(), HasUnboundedDimension);
}

// Every later computation on sizes relies on this: no negative size, and element counts and bytes fit in int64.
Status CheckSizes(const Instruction& instruction, const Shape& shape) {
  if (HasUnboundedDimension(shape)) {  // shape_c1
    return Unsupported("{}: {} has an unbounded dimension, which cannot be compiled", OpcodeText(instruction.opcode()),
                       shape.ToString());
  }
  for (const Shape* leaf : FlattenTuple(shape)) {
    std::vector<int64_t> sizes(leaf->dimensions().begin(), leaf->dimensions().end());
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) {  // shape_c2
        return OpError(instruction, "size {} of dimension {} is negative", sizes[i], i);
      }
    }
    // Of an empty array the other sizes count too: strides are products of some of them.
    std::ranges::replace(sizes, 0, 1);
    Result<int64_t> count = CheckedElementCount(sizes);  // shape_c3
    if (!count.ok()) {
      return OpError(instruction, "the product of the sizes above 0 of {} exceeds the limit of 2^63-1",
                     leaf->ToString());
    }
    if (leaf->IsArray() && *count > INT64_MAX / StorageBytes(leaf->element_type())) {  // shape_c4
      return OpError(instruction, "the size of {} in bytes exceeds the limit of 2^63-1", leaf->ToString());
    }
  }
  return OkStatus();
}

Result<Shape> Dispatch(const Instruction& instruction) {
  switch (instruction.opcode()) {
#define VXLA_ROW(Name, ...) \
  case Opcode::k##Name:     \
    return Infer##Name(instruction);
// The order of these includes matters.
// clang-format off
#include "core/opcode_rows.h"
#include "core/opcode.def"
#include "core/opcode_rows_end.h"
    // clang-format on
  }
  return Internal("no such opcode");
}

}  // namespace

Result<Shape> InferShape(const Instruction& instruction) {
  const int expected = FactsOf(instruction.opcode()).operand_count;
  if (expected >= 0 && instruction.operand_count() != expected) {  // arity_c1
    return OpError(instruction, "{} operands, {} needed", instruction.operand_count(), expected);
  }
  for (const Instruction* operand : instruction.operands()) {
    VXLA_RETURN_IF_ERROR(CheckSizes(instruction, operand->shape()));
  }
  VXLA_RETURN_IF_ERROR(CheckSizes(instruction, instruction.shape()));
  VXLA_ASSIGN_OR_RETURN(Shape shape, Dispatch(instruction));
  VXLA_RETURN_IF_ERROR(CheckSizes(instruction, shape));
  return shape;
}

bool ShapeCanBeInferred(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kBroadcast:
    case Opcode::kConstant:
    case Opcode::kConvert:
    case Opcode::kStochasticConvert:
    case Opcode::kCustomCall:
    case Opcode::kFusion:
    case Opcode::kInfeed:
    case Opcode::kIota:
    case Opcode::kOutfeed:
    case Opcode::kParameter:
    case Opcode::kReducePrecision:
    case Opcode::kReshape:
    case Opcode::kDynamicReshape:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kSlice:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kScaledDot:
    case Opcode::kScan:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return false;
    default:
      return true;
  }
}

}  // namespace vxla
