// Library calls (core/library/library_calls.h) on the reference: textbook algorithms in numbers wider than the type,
// but for eigenvalues and Schur forms of general matrices, which the machine's LAPACK computes (lapack_library.h).
#pragma once

#include <span>

#include "backend/cpu/reference/eval.h"
#include "core/library/library_calls.h"

namespace VXLA_NAMESPACE {

// kUnsupported or kInvalidArgument where the call has another form than is known, or needs a LAPACK that is not there.
Status CheckLibraryCall(const Instruction& instruction);

EvalResult EvalLibraryCall(EvalContext& context, const Instruction& instruction, std::span<Value> operands);

// geev and gees of one operand; `result` is a tuple of zeros.
bool HasLapack();
void EvalByLapack(const EvalContext& context, const LibraryCall& call, const Literal& a, Literal& result);

}  // namespace VXLA_NAMESPACE
