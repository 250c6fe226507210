// Deadlock report: who waits at what for whom, when devices of a run wait in vain.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "core/devices/replica_groups.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// What a device does.
struct DeviceSituation {
  enum class State : uint8_t { kRunning, kWaiting, kEnded, kAway };
  State state = State::kRunning;
  const Instruction* at = nullptr;  // that it computes or waits at; null: it has not started
  IntList waits_for;                // devices
};

// kDeviceFailure, where `first` waits: for whom, and what up to 16 others of `devices` do. waited: not given, if no
// device can go on. The same whether a program's devices are found to wait when it is compiled or when it runs. Pure.
Status DeadlockReport(const DeviceGrid& grid, const IntList& devices, int64_t first,
                      std::optional<std::chrono::milliseconds> waited,
                      const std::function<DeviceSituation(int64_t device)>& situation_of);
// `from` has sent data to a device (nobody in particular: -1) that did not take them.
Status UntakenReport(const DeviceGrid& grid, const Instruction& at, int64_t from, int64_t to);
// A channel whose pairs nobody states connects one sender with one receiver: (source, target).
Status SeveralConnections(const DeviceGrid& grid, const Instruction& at, std::pair<int64_t, int64_t> known,
                          std::pair<int64_t, int64_t> next);

}  // namespace VXLA_NAMESPACE
