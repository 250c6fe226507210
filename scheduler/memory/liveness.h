// Liveness: from which operation to which each buffer of a step graph holds a value.
#pragma once

#include "core/status.h"
#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// Afterwards first_use and last_use of every buffer are the first and the last operation that touches it (what a loop
// uses but does not make lives to the loop's end, and results and counts of workgroups live on to the last operation,
// parameters and constants from the first), and every value is written before it is read (else Internal: a lowering
// forgot a step).
Status ComputeLiveness(StepGraph& graph);

}  // namespace VXLA_NAMESPACE
