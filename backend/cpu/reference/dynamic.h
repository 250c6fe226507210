// Instructions on arrays with bounded dynamic dimensions. An op sees dense arrays of the live sizes, so padding never
// counts; what it gives is padded to the stated bounds again.
#pragma once

#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {

// An operand has live sizes, or the stated shape is dynamic.
bool NeedsLiveSizes(const Instruction& instruction, std::span<const Value> operands);
// Evaluates such an instruction; `function` is the one for static shapes.
Result<Value> EvaluateLive(EvalContext& context, const Instruction& instruction, std::span<Value> operands,
                           EvalFunction* function);

// A dense result under the stated bounds: its sizes live. An error where they do not fit.
Result<Value> PadToStated(const Instruction& instruction, Value dense, const Shape& stated);
// A value of the stated sizes, dynamic where the stated shape is; an error where that is static and less lives.
Result<Value> WithStatedFlags(const Instruction& instruction, Value value, const Shape& stated);

}  // namespace VXLA_NAMESPACE
