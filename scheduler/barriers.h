// Barriers: the fewest that keep a command list's reads and writes in order.
#pragma once

#include "scheduler/plan.h"

namespace VXLA_NAMESPACE {

// Expects placements and segments without barriers. Afterwards, for every two commands of a segment that touch the same
// bytes, one of them writing, a barrier stands between them, and no list of barriers with that property is shorter:
// each stands directly before a command that could not do without it. Between segments the host waits, so nothing is
// needed there.
void InsertBarriers(Plan& plan);

// What a command reads and writes, as memory.
struct MemoryUse {
  PhysicalRange range;
  bool writes = false;
};
std::vector<MemoryUse> MemoryUses(const Plan& plan, const GpuCommand& command);
// Both touch the same bytes, and one of them writes.
bool HasHazard(const std::vector<MemoryUse>& earlier, const std::vector<MemoryUse>& later);

}  // namespace VXLA_NAMESPACE
