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
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
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

}  // namespace VXLA_NAMESPACE
