// Prepare: from a module as it was read, or made for known sizes, to one that everything after takes: verified, with
// what only some readers understand in the terms of plain operations.
#pragma once

#include "core/ir/module.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Once, by whoever makes a module: ParseProgram of what it reads, mlir::DynamicProgram of what it makes for sizes.
Status Prepare(Module& module);

}  // namespace VXLA_NAMESPACE
