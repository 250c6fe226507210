#include "scheduler/plan/barriers.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

void InsertInto(const Plan& plan, GpuCommands& segment) {
  std::vector<GpuCommand> ordered;
  CommandsMemory memory;  // since the last barrier
  for (GpuCommand& command : segment.commands) {
    const std::vector<MemoryUse> uses = MemoryUses(plan, command);
    if (std::ranges::any_of(uses, [&](const MemoryUse& use) { return memory.IsBefore(use); })) {
      ordered.push_back(Barrier{});
      memory = {};
    }
    for (const MemoryUse& use : uses) memory.Add(use);
    ordered.push_back(std::move(command));
  }
  segment.commands = std::move(ordered);
}

}  // namespace

bool TouchedMemory::Hits(const PhysicalRange& range) const {
  const auto memory = ranges_.find(Key(range));
  if (memory == ranges_.end()) return false;
  auto at = memory->second.lower_bound(range.end);  // the first that begins at or beyond the end
  return at != memory->second.begin() && std::prev(at)->second > range.begin;
}

void TouchedMemory::Add(const PhysicalRange& range) {
  if (range.begin >= range.end) return;
  auto& memory = ranges_[Key(range)];
  int64_t begin = range.begin, end = range.end;
  auto at = memory.upper_bound(end);
  while (at != memory.begin() && std::prev(at)->second >= begin) {
    --at;
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = memory.erase(at);
  }
  memory.emplace(begin, end);
}

std::vector<MemoryUse> MemoryUses(const Plan& plan, const GpuCommand& command) {
  std::vector<MemoryUse> uses;
  if (const auto* dispatch = std::get_if<Dispatch>(&command)) {
    for (const Binding& binding : plan.steps[dispatch->step].bindings) {
      uses.push_back({RangeOf(plan, binding.slice), binding.access != Access::kRead});
    }
    if (dispatch->groups_at.buffer >= 0) uses.push_back({RangeOf(plan, dispatch->groups_at), false});
  } else if (const auto* copy = std::get_if<CopyBytes>(&command)) {
    uses.push_back({RangeOf(plan, copy->source), false});
    uses.push_back({RangeOf(plan, copy->target), true});
  }
  return uses;
}

void InsertBarriers(Plan& plan) {
  for (GpuCommands& gpu : Only<GpuCommands>(plan.segments)) InsertInto(plan, gpu);
}

}  // namespace VXLA_NAMESPACE
