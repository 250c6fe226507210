// Barriers: the fewest that keep a command list's reads and writes in order.
#pragma once

#include <map>
#include <utility>

#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Expects placements and segments without barriers. Afterwards, for every two commands of a segment that touch the same
// bytes, one of them writing, a barrier stands between them, and no list of barriers with that property is shorter:
// each stands directly before a command that could not do without it. A segment is submitted to wait for the one before
// it, so nothing is needed between them.
void InsertBarriers(Plan& plan);

// What a command reads and writes, as memory.
struct MemoryUse {
  PhysicalRange range;
  bool writes = false;
};
std::vector<MemoryUse> MemoryUses(const Plan& plan, const GpuCommand& command);
// Bytes as disjoint ranges per memory: many small reads of one constant stay one range.
class TouchedMemory {
 public:
  bool Hits(const PhysicalRange& range) const;
  void Add(const PhysicalRange& range);

 private:
  static std::pair<MemorySpace, int> Key(const PhysicalRange& range) { return {range.space, range.index}; }
  std::map<std::pair<MemorySpace, int>, std::map<int64_t, int64_t>> ranges_;
};

// What commands read and write together, and whether another one has to wait for them.
struct CommandsMemory {
  TouchedMemory reads, writes;

  bool IsBefore(const MemoryUse& use) const {
    return use.range.begin < use.range.end && (writes.Hits(use.range) || (use.writes && reads.Hits(use.range)));
  }
  void Add(const MemoryUse& use) { (use.writes ? writes : reads).Add(use.range); }
};

}  // namespace VXLA_NAMESPACE
