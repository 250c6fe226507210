// Merged loops: dispatches of the same kernel between two barriers become one, so that many small updates cost what one
// large one does.
#pragma once

#include "scheduler/plan.h"

namespace VXLA_NAMESPACE {

// Expects barriers. Steps that are part of a merged one leave the plan.
void MergeLoops(Plan& plan, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE
