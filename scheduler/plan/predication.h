// Predication: loops and branches that the device decides about.
#pragma once

#include "backend/lowering.h"
#include "core/status.h"
#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Expects placements and segments without barriers, and a lowering that has gates. Afterwards a conditional whose
// branches are device work alone, and not much, is no decision any more: all of its branches are in the command list,
// behind a step that sets the counts of workgroups of those that are not taken to zero. A while of that kind keeps a
// decision about how often its iterations are submitted (HostDecide::ahead), but each iteration begins with the
// condition and does nothing once it has failed. Memory was assigned for branches and iterations that run one after
// another, which is what they still do. Dispatches whose workgroups the device counts itself (Step::groups_at: the last
// three words of a gate) keep their counts: their buffer becomes one of the gates.
Status Predicate(Plan& plan, const Lowering& lowering);

}  // namespace VXLA_NAMESPACE
