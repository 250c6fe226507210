// Segments: what goes to the device, or to the host, in one piece.
#pragma once

#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// Afterwards plan.segments holds every operation once, in order: neighbours of one group on the device share a
// GpuCommands segment as far as queues, overlaps and the work budget of the facts allow, each host evaluation is a
// segment of its own, and each decision one before its regions.
void PartitionSegments(StepGraph& graph, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE
