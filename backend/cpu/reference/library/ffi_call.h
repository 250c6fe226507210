// Calls of XLA's typed FFI: a call frame made from literals, and what handlers ask of the runtime.
#pragma once

#include <span>

#include "backend/cpu/reference/library/custom_call.h"
#include "core/data/literal.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

class Instruction;

namespace ffi {
struct Error;
struct ErrorCreate;
Error* MakeError(ErrorCreate* call);
void FreeError(Error* error);
}  // namespace ffi

std::shared_ptr<FfiInstances> MakeFfiInstances();

// Runs the stages that there are. `inputs` and `result` are laid out as the handler sees them; their shapes are the
// instruction's.
Status CallFfi(const Instruction& instruction, const CustomCallRegistry::Target& function,
               std::span<const Literal> inputs, Literal& result);

}  // namespace VXLA_NAMESPACE
