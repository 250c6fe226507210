// Shape inference and checking of every opcode: InferX per row of core/ir/opcode.def, in core/ops/<family>.cc.
#pragma once

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

// The shape that an instruction has by its operands, attributes and called computations, after checking all of them.
// The shape it states is read only where the operands leave it open: the element type of convert, dot and the like, the
// sizes of reshape and broadcast, all of constant or custom-call. Those opcodes check what is stated and return it.
// An instruction whose text states no shape carries Shape(), the empty tuple. Errors: InvalidArgument with what, where,
// value and limit; Unsupported for unbounded dimensions. Layouts do not count, and results carry none.
Result<Shape> InferShape(const Instruction& instruction);

// One body per row; a missing one is a linker error that names it.
#define VXLA_ROW(Name, ...) Result<Shape> Infer##Name(const Instruction& instruction);
// The order of these includes matters.
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
// clang-format on

}  // namespace VXLA_NAMESPACE
