// Queue assignment: work that does not depend on one another beside each other, on queues of its own.
#pragma once

#include <span>

#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// What a queue has to do: how long it takes alone, and how long of that the whole device is busy with it.
struct QueueWork {
  double seconds = 0, busy_seconds = 0;
};
QueueWork WorkOf(const Operation& operation, const Plan& plan, const DeviceFacts& facts);
// How much sooner it is done on several queues than on one, where it takes `one_queue_seconds`; below 0: later.
double OverlapGain(double one_queue_seconds, std::span<const QueueWork> queues, const DeviceFacts& facts);

// Where a device has several compute queues: afterwards runs of operations without a dependence between them that gain
// by it are one overlap (Operation::overlap), queue by queue. Overlaps lie outside of all decisions or in bodies of
// counted loops. After copies are elided, before buffers are placed.
void AssignQueues(StepGraph& graph, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE
