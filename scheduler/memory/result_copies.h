// Result copies: results that are a parameter, a constant or another result get kernels that copy them.
#pragma once

#include "backend/lowering.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Every result must be memory of its own. Where lowering takes a copy loop, a fusion that copies is put before the
// root, so that replays need no command that names a buffer; other leaves are left to the plan's CopyBytes. Results
// that the program donates their own parameter to stay as they are.
void CopySharedResults(Module& module, const Lowering& lowering);

}  // namespace VXLA_NAMESPACE
