// Donation: which result takes over the memory of which parameter, as the module's input_output_alias asks.
#pragma once

#include "core/status.h"
#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// Expects liveness. Afterwards a donated parameter's buffer is the result's buffer wherever nothing reads the parameter
// once the result is being written (or one loop does both, element by element). Where that fails, a must-alias result
// is copied over the parameter at the end, and a may-alias one keeps a buffer of its own. Liveness still holds.
void AssignDonations(StepGraph& graph);

}  // namespace VXLA_NAMESPACE
