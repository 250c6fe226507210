// vxla run --checked: places that an operation leaves undefined, found by a run on the CPU reference.
#pragma once

#include <span>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Runs the program and looks at the operands of each instruction whose places must lie within its operands
// (Notes::checked), in loops and branches too. kMismatch names the first that do not: the operation, the index
// and the limit, at the operation's place. `module` is none that IsDynamicProgram.
Status CheckPlaces(const Module& module, std::span<const Literal* const> arguments, EvaluateOptions options);

// A failure of a tensor operation, seen as its sizes became known, as what --checked reports.
Status AsChecked(const Status& status);

}  // namespace VXLA_NAMESPACE
