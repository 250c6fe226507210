// Buffer assignment: a place in memory for every buffer of a step graph.
#pragma once

#include "backend/device_facts.h"
#include "core/limits.h"
#include "core/status.h"
#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// What a device's memory demands of a plan.
struct MemoryLimits {
  int64_t alignment = kBlockAlignment;
  int64_t max_block_bytes = int64_t{1} << 30;  // of one allocation
  int64_t max_range_bytes = int64_t{1} << 62;  // of one binding
  int64_t memory_bytes = int64_t{1} << 62;     // of the whole device
};
MemoryLimits MemoryLimitsOf(const DeviceFacts& facts, BindingMode bindings);

// Expects liveness and donations. Afterwards every buffer has its placement: results in buffers of their own, constants
// one after another, scratch packed so that no two buffers overlap while both are alive; block sizes, peak_bytes and
// lower_bound_bytes are set. ResourceExhausted names the first buffer beyond a limit, and the limit.
Status AssignBuffers(StepGraph& graph, const MemoryLimits& limits);

}  // namespace VXLA_NAMESPACE
