// Operation order: independent chains of operations side by side, so that one barrier serves all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scheduler/graph/step_graph.h"
#include "scheduler/memory/buffer_packing.h"

namespace VXLA_NAMESPACE {

// What a program may take of memory besides what its own order needs, so that operations share barriers: an eighth, or
// 32 MiB, about what GPUs' caches hold.
inline int64_t MemoryForSharing(int64_t bytes) { return std::max(bytes / 8, int64_t{32} << 20); }

// Operations stand in waves: what touches the same bytes, one of them writing, is in different waves, so that a barrier
// between waves is all that is needed. Each operation moves to the wave before which everything it needs is done, where
// the longest chain of the program leaves it no choice (A -> B and C -> D, one after the other in the text, are two
// waves); what has time stays beside the operations that it had as neighbours, so that values live no longer than need
// be. Nothing moves over a host step, a decision, or where groups meet. Where memory would grow by more than
// MemoryForSharing, it is tried in shorter stretches of the program, and left as it is at last. Expects copies elided,
// no lifetimes and no placements. True if the order has changed.
Result<bool> ShareBarriers(StepGraph& graph);

// By operation, the wave in the order that the graph has: barriers stand between them (InsertBarriers), as far as
// distinct buffers have distinct memory. Host steps and decisions have waves of their own.
std::vector<int> WavesOf(const StepGraph& graph);
// In waves, where there are any: what shares a wave then shares no memory, which would call for barriers of its own.
Lifetime LifetimeOf(const PlanBuffer& buffer, const std::vector<int>& waves);

}  // namespace VXLA_NAMESPACE
