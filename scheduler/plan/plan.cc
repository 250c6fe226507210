#include "scheduler/plan/plan.h"

#include <algorithm>

#include "core/check.h"

namespace VXLA_NAMESPACE {
int Plan::barrier_count() const {
  int count = 0;
  for (const GpuCommands& gpu : Only<GpuCommands>(segments))
    count += static_cast<int>(std::ranges::distance(Only<Barrier>(gpu.commands)));
  return count;
}

int Plan::SegmentEnd(int i) const {
  const auto* decision = std::get_if<HostDecide>(&segments.at(i));
  return decision == nullptr || decision->region_ends.empty() ? i + 1 : decision->region_ends.back();
}

std::pair<int, int> Plan::Region(int decision, int region) const {
  const auto& ends = std::get<HostDecide>(segments.at(decision)).region_ends;
  return {region == 0 ? decision + 1 : ends.at(region - 1), ends.at(region)};
}

std::vector<bool> Plan::InLoops(bool (*is_kind)(const HostDecide&)) const {
  std::vector<bool> in_loop;
  int end = 0;  // of such loops so far
  for (const auto& segment : segments) {
    in_loop.push_back(static_cast<int>(in_loop.size()) < end);
    const auto* decision = std::get_if<HostDecide>(&segment);
    if (decision != nullptr && is_kind(*decision)) end = std::max(end, decision->region_ends.back());
  }
  return in_loop;
}

std::vector<int> Plan::Batches() const {
  std::vector<int> batches(segments.size(), 1);
  for (int i = 0; i < static_cast<int>(segments.size()); ++i) {
    const auto* decision = std::get_if<HostDecide>(&segments[i]);
    if (decision != nullptr && decision->batch > 1) batches.at(Region(i, 1).first) = decision->batch;
  }
  return batches;
}

PhysicalRange RangeOf(const Plan& plan, const BufferSlice& slice) {
  const Placement& placement = plan.buffers.at(slice.buffer).placement;
  const int64_t begin = placement.offset_bytes + slice.offset_bytes;
  return {placement.space, placement.index, begin, begin + slice.size_bytes};
}

bool Overlap(const PhysicalRange& a, const PhysicalRange& b) {
  return a.space == b.space && a.index == b.index && a.begin < b.end && b.begin < a.end;
}

bool IsCopyOfGroups(const Plan& plan, const CopyBytes& copy) {
  const auto whole = [&](const BufferSlice& slice) {
    return slice.offset_bytes == 0 && slice.size_bytes == plan.buffers[slice.buffer].size_bytes;
  };
  return copy.source.size_bytes % 16 == 0 || (whole(copy.source) && whole(copy.target));
}

}  // namespace VXLA_NAMESPACE
