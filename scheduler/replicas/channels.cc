#include "scheduler/replicas/channels.h"

#include "core/devices/deadlock_report.h"

namespace VXLA_NAMESPACE {

bool Channels::HasData(const ChannelPath& path) const {
  const auto it = parcels_.find(path);
  return it != parcels_.end() && !it->second.empty();
}

Literal Channels::Take(const ChannelPath& path) {
  std::deque<Parcel>& parcels = parcels_.at(path);
  Literal data = std::move(parcels.front().data);
  parcels.pop_front();
  return data;
}

std::optional<ChannelPath> Channels::PathTo(int64_t device, int64_t channel) const {
  ChannelPath path{Opcode::kSend, channel, device, ChannelPath::kAnyTarget};
  if (HasData(path)) return path;
  for (path.source = 0; path.source < grid_.count(); ++path.source) {
    if (HasData(path)) return path;
  }
  return std::nullopt;
}

Status Channels::Connect(const Instruction& at, int64_t device, const ChannelPath& path) {
  if (path.source == device) return OkStatus();
  const auto [connection, fresh] = connections_.try_emplace(path.channel, path.source, device);
  if (fresh || connection->second == std::pair(path.source, device)) return OkStatus();
  return SeveralConnections(grid_, at, connection->second, {path.source, device});
}

Status Channels::Untaken() const {
  for (const auto& [path, parcels] : parcels_) {
    if (!parcels.empty()) return UntakenReport(grid_, *parcels.front().from, path.source, path.target);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
