#include "core/devices/deadlock_report.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE {
namespace {

std::string SituationText(const DeviceGrid& grid, int64_t device, const DeviceSituation& situation) {
  const std::string name = grid.Name(device);
  if (situation.state == DeviceSituation::State::kEnded) return name + " has ended";
  if (situation.state == DeviceSituation::State::kAway) return name + " has taken another branch or left a loop";
  if (situation.at == nullptr) return name + " has not started";
  const std::string at = TextWithChannel(*situation.at);
  if (situation.state == DeviceSituation::State::kRunning) return fmt::format("{} computes {}", name, at);
  return fmt::format("{} waits at {} for {}", name, at, grid.Names(situation.waits_for));
}

}  // namespace

Status DeadlockReport(const DeviceGrid& grid, const IntList& devices, int64_t device,
                      std::optional<std::chrono::milliseconds> waited,
                      const std::function<DeviceSituation(int64_t device)>& situation_of) {
  const DeviceSituation first = situation_of(device);
  std::string text =
      fmt::format("deadlock: {}: {} {} for {}", TextWithChannel(*first.at), grid.Name(device),
                  waited ? fmt::format("has waited {} s", static_cast<double>(waited->count()) / 1000.0) : "waits",
                  grid.Names(first.waits_for));
  int64_t listed = 0;
  for (const int64_t d : devices) {
    if (d == device) continue;
    if (listed++ == DeviceGrid::kMostListed) {
      text += fmt::format("; and {} more devices", std::ssize(devices) - 1 - DeviceGrid::kMostListed);
      break;
    }
    text += "; " + SituationText(grid, d, situation_of(d));
  }
  return DeviceFailure("{}", text).At(first.at->location());
}

Status UntakenReport(const DeviceGrid& grid, const Instruction& at, int64_t from, int64_t to) {
  return DeviceFailure("deadlock: {}: {} has sent data that {} never took", TextWithChannel(at), grid.Name(from),
                       to < 0 ? "any device" : grid.Name(to))
      .At(at.location());
}

Status SeveralConnections(const DeviceGrid& grid, const Instruction& at, std::pair<int64_t, int64_t> known,
                          std::pair<int64_t, int64_t> next) {
  return InvalidArgument(
      "{}: the channel connects {} with {} and {} with {}; the frontend attribute _xla_send_recv_source_target_pairs "
      "must tell which device sends to which",
      TextWithChannel(at), grid.Name(known.first), grid.Name(known.second), grid.Name(next.first),
      grid.Name(next.second));
}

}  // namespace VXLA_NAMESPACE
