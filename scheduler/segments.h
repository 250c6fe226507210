// Queue assignment: which operations run where, and the segments that follow from it.
#pragma once

#include "scheduler/step_graph.h"

namespace VXLA_NAMESPACE {

// Afterwards plan.segments holds every operation once, in order: neighbours of one group on the device share a
// GpuCommands segment (all on queue 0) as far as the work budget of the facts allows, each host evaluation is a segment of its own, and
// each decision one before its regions.
void PartitionSegments(StepGraph& graph, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE
