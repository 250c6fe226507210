#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

Status CheckShapeOf(const Instruction& instruction, const Shape& shape) {
  Status status = CheckShape(shape);
  return status.ok() ? status : std::move(status).WithPrefix(fmt::format("{}: ", OpcodeText(instruction.opcode())));
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
    VXLA_RETURN_IF_ERROR(CheckShapeOf(instruction, operand->shape()));
  }
  VXLA_RETURN_IF_ERROR(CheckShapeOf(instruction, instruction.shape()));
  VXLA_ASSIGN_OR_RETURN(Shape shape, Dispatch(instruction));
  VXLA_RETURN_IF_ERROR(CheckShapeOf(instruction, shape));
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

}  // namespace VXLA_NAMESPACE
